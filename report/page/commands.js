// (13) At the end of the page: how to run the plan, how to make this report again, and what it was made from.

function makeOrigins(data) {
  if (!data.inputs?.length) return null;
  const columns = [
    {key: 'role', title: 'Input', value: (input) => input.role},
    {key: 'path', title: 'File', class: 'path', value: (input) => input.path},
    {key: 'hash', title: 'Hash', class: 'path', value: (input) => input.hash},
  ];
  return [makeMinorHeading('Input files'), makeTable('Inputs', columns, data.inputs)];
}

/** Fills the footer. */
function fillFooter(footer, data) {
  const command = data.verdict?.apply_command;
  footer.append(make('h2', {id: 'colophon-heading'}, 'Commands and input files'),
      ...[command ? [makeMinorHeading('Run the plan'), makeCommand(command, 'the command that runs the plan')] : null,
        makeMinorHeading('Make this report again'), makeCommand(data.command, 'the command of this report'),
        makeOrigins(data),
        make('p', {}, `Written by ${data.tool}. The same files and command give the same numbers. This file loads ` +
            'nothing from anywhere.')].flat().filter((node) => node !== null));
}
