// Contrast of text as WCAG 2 defines it, of every visible text of a page. Runs in the browser: it is handed
// over as text, so everything stands inside.

/** @returns {{text, ratio, colour, ground}[]} texts whose contrast is below `least`, each kind once */
export function textsBelow(least) {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
  const rgba = (css) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = (top, ground) => [0, 1, 2].map((i) => top[i] * top[3] + ground[i] * (1 - top[3])).concat(1);
  const luminance = ([red, green, blue]) => {
    const linear = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  };
  const ratioOf = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const groundOf = (element) => {
    if (!element) return [255, 255, 255, 1];
    const own = rgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, groundOf(element.parentElement));
  };
  const isShown = (element) => element.checkVisibility({visibilityProperty: true, opacityProperty: true}) &&
      !element.closest('.visually-hidden') && element.getClientRects().length > 0;
  const hasText = (element) => [...element.childNodes].some(
      (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== '');
  const found = new Map();
  for (const element of document.querySelectorAll('body *')) {
    if (!hasText(element) || ['SCRIPT', 'STYLE', 'NOSCRIPT'].includes(element.tagName) || !isShown(element)) continue;
    const ground = groundOf(element);
    const colour = over(rgba(getComputedStyle(element).color), ground);
    const ratio = ratioOf(colour, ground);
    if (ratio < least) {
      found.set(`${colour} on ${ground}`, {text: element.textContent.trim().slice(0, 40), ratio, colour, ground});
    }
  }
  return [...found.values()];
}
