// Inserts rows into a plain SQLite database: rows FILE COUNT BYTES. Prints the elapsed seconds.
//
// The tables are those of a list without the columns for encryption: an item, its place, and the indexes that keep both unique. A
// transaction has a hundred rows, like a page of a service.
#include <inttypes.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *database;

// 32 hexadecimal digits in random order, like IDs of services (SplitMix64): the same as in offline-bench.
static int id(char *text, size_t size, uint64_t row) {
    uint64_t halves[2];
    for (int half = 0; half < 2; half++) {
        uint64_t value = (row * 2 + (uint64_t)half + 1) * 0x9E3779B97F4A7C15u;
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
        halves[half] = value ^ (value >> 31);
    }
    return snprintf(text, size, "%016" PRIx64 "%016" PRIx64, halves[0], halves[1]);
}

static void run(const char *sql) {
    char *error = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &error) == SQLITE_OK) return;
    fprintf(stderr, "%s\n", error);
    exit(1);
}

static sqlite3_stmt *prepared(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) != SQLITE_OK) exit(1);
    return statement;
}

static void step(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) exit(1);
    sqlite3_reset(statement);
}

int main(int count, char **arguments) {
    if (count != 4 || sqlite3_open(arguments[1], &database) != SQLITE_OK) return 1;
    long rows = atol(arguments[2]), bytes = atol(arguments[3]);
    char *json = malloc((size_t)bytes + 128), key[40];
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        "CREATE TABLE item(n INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, json BLOB NOT NULL);"
        "CREATE TABLE entry(list INTEGER NOT NULL, segment INTEGER NOT NULL, position INTEGER NOT NULL, item INTEGER NOT NULL,"
        " PRIMARY KEY(list, segment, position));"
        "CREATE UNIQUE INDEX entry_item ON entry(item, list);");
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    sqlite3_stmt *item = prepared("INSERT INTO item(key, json) VALUES (?, ?)");
    sqlite3_stmt *entry = prepared("INSERT INTO entry VALUES (1, 1, ?, ?)");
    for (long row = 0; row < rows; row++) {
        if (row % 100 == 0) run("BEGIN IMMEDIATE");
        int length = id(key, sizeof(key), (uint64_t)row);
        int head = snprintf(json, 128, "{\"id\":\"%s\",\"text\":\"", key);
        memset(json + head, 'x', (size_t)(bytes - head));
        memcpy(json + bytes - 2, "\"}", 2);
        sqlite3_bind_text(item, 1, key, length, SQLITE_STATIC);
        sqlite3_bind_blob(item, 2, json, (int)bytes, SQLITE_STATIC);
        step(item);
        sqlite3_bind_int64(entry, 1, row);
        sqlite3_bind_int64(entry, 2, sqlite3_last_insert_rowid(database));
        step(entry);
        if (row % 100 == 99 || row == rows - 1) run("COMMIT");
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.6f\n", (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9);
    return 0;
}
