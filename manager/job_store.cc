// Three tables: one row of state, the acts to do, and the log. Every decision is one transaction in
// rollback-journal mode with synchronous=FULL, so a kill leaves the one before or the one after.
// The lock is SQLite's own: locking_mode=EXCLUSIVE keeps the file to one process, and the system
// frees it when that process dies, however it dies.
#include "manager/job_store.h"

#include <cstdint>

#include <sqlite3.h>

#include "core/values/error.h"

namespace penstock {
namespace {

constexpr int kVersion = 1;

constexpr const char* kTables =
    "CREATE TABLE IF NOT EXISTS state (id INTEGER PRIMARY KEY CHECK (id = 0), json TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS acts (id INTEGER PRIMARY KEY, json TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY, at_ns INTEGER NOT NULL,"
    " generation INTEGER NOT NULL, event TEXT NOT NULL, decision TEXT NOT NULL,"
    " reason TEXT NOT NULL);";

}  // namespace

struct JobStore::Database {
  std::string path;
  sqlite3* handle = nullptr;

  ~Database() { sqlite3_close(handle); }

  [[noreturn]] void fail(const std::string& doing) const {
    const int code = sqlite3_errcode(handle);
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
      throw Error(ErrorKind::kMissingResource,
                  path +
                      ": another manager has this job\nhelp: ask it with penstock status, or "
                      "give the job its own run_folder");
    }
    throw Error(ErrorKind::kMissingResource,
                path + ": " + doing + " failed: " + sqlite3_errmsg(handle) +
                    "\nhelp: is the disk full, or the file something else than a job's state?");
  }

  void run(const char* sql) const {
    if (sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(sql);
  }
};

namespace {

// One prepared statement; parameters are bound in order.
class Statement {
 public:
  Statement(sqlite3* handle, const char* sql) {
    if (sqlite3_prepare_v2(handle, sql, -1, &statement_, nullptr) != SQLITE_OK)
      statement_ = nullptr;
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  Statement& bind(const std::string& text) {
    sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(std::int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  // SQLITE_ROW, SQLITE_DONE, or what went wrong.
  int step() { return statement_ == nullptr ? SQLITE_ERROR : sqlite3_step(statement_); }
  [[nodiscard]] std::string text(int column) const {
    const auto* const found =
        reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return found == nullptr
               ? ""
               : std::string(found,
                             static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }
  [[nodiscard]] std::int64_t number(int column) const {
    return sqlite3_column_int64(statement_, column);
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

bool insert(sqlite3* handle, const JobDecision& decision) {
  bool good = Statement(handle, "INSERT OR REPLACE INTO state VALUES (0, ?)")
                  .bind(to_text(write_job_state(decision.next)))
                  .step() == SQLITE_DONE;
  for (const Act& act : decision.acts) {
    good = good && Statement(handle, "INSERT INTO acts (json) VALUES (?)")
                           .bind(to_text(write_act(act)))
                           .step() == SQLITE_DONE;
  }
  for (const LogEntry& entry : decision.log) {
    Statement line(handle,
                   "INSERT INTO log (at_ns, generation, event, decision, reason)"
                   " VALUES (?, ?, ?, ?, ?)");
    line.bind(entry.at.time_since_epoch().count()).bind(entry.generation);
    line.bind(entry.event).bind(entry.decision).bind(entry.reason);
    good = good && line.step() == SQLITE_DONE;
  }
  return good;
}

}  // namespace

JobStore::JobStore(const std::string& path) : database_(std::make_unique<Database>()) {
  database_->path = path;
  if (sqlite3_open(path.c_str(), &database_->handle) != SQLITE_OK) database_->fail("opening it");
  // A moment of patience: a manager that was just killed may still be on its way out.
  sqlite3_busy_timeout(database_->handle, 1000);
  database_->run("PRAGMA locking_mode=EXCLUSIVE; PRAGMA synchronous=FULL");
  database_->run("BEGIN EXCLUSIVE");
  Statement version(database_->handle, "PRAGMA user_version");
  if (version.step() != SQLITE_ROW) database_->fail("reading its version");
  const std::int64_t found = version.number(0);
  if (found > kVersion) {
    throw Error(ErrorKind::kMissingResource, path + ": was written by a newer penstock (version " +
                                                 std::to_string(found) + ", this one knows " +
                                                 std::to_string(kVersion) +
                                                 ")\nhelp: use that one, or another run_folder");
  }
  database_->run(kTables);
  database_->run(("PRAGMA user_version=" + std::to_string(kVersion)).c_str());
  database_->run("COMMIT");
}

JobStore::~JobStore() = default;

std::optional<JobState> JobStore::state() const {
  Statement query(database_->handle, "SELECT json FROM state");
  const int found = query.step();
  if (found == SQLITE_DONE) return std::nullopt;
  if (found != SQLITE_ROW) database_->fail("reading the state");
  return read_job_state(parse_json(query.text(0), database_->path), database_->path);
}

std::vector<Act> JobStore::acts_to_do() const {
  std::vector<Act> acts;
  Statement query(database_->handle, "SELECT json FROM acts ORDER BY id");
  int found = query.step();
  for (; found == SQLITE_ROW; found = query.step()) {
    acts.push_back(read_act(parse_json(query.text(0), database_->path), database_->path));
  }
  if (found != SQLITE_DONE) database_->fail("reading the acts");
  return acts;
}

std::vector<LogEntry> JobStore::log(std::size_t newest) const {
  std::vector<LogEntry> entries;
  Statement query(database_->handle,
                  "SELECT at_ns, generation, event, decision, reason FROM"
                  " (SELECT * FROM log ORDER BY id DESC LIMIT ?) ORDER BY id");
  query.bind(static_cast<std::int64_t>(newest));
  int found = query.step();
  for (; found == SQLITE_ROW; found = query.step()) {
    entries.push_back({UtcTime{Duration{query.number(0)}}, query.number(1), query.text(2),
                       query.text(3), query.text(4)});
  }
  if (found != SQLITE_DONE) database_->fail("reading the log");
  return entries;
}

std::optional<std::string> JobStore::keep(const JobDecision& decision) {
  sqlite3* const handle = database_->handle;
  const auto kept = [&](const char* sql) {
    return sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  };
  if (kept("BEGIN") && insert(handle, decision) && kept("COMMIT")) return std::nullopt;
  // Said first: a rollback would overwrite what went wrong.
  std::string what = database_->path + ": keeping a decision failed: " + sqlite3_errmsg(handle);
  kept("ROLLBACK");
  return what;
}

void JobStore::acts_done() {
  sqlite3_exec(database_->handle, "DELETE FROM acts", nullptr, nullptr, nullptr);
}

}  // namespace penstock
