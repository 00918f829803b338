// The operations of the command in C: floor whoami|save|none ROOT, floor check ROOT PORT, floor range PORT KEY.
//
// check: reads the account, makes the two requests of a session check, and saves the account. save: the same without the requests.
// none: only starts and ends. range: makes the request with which `account` reads its account from etcd; KEY is in Base64.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floor.h"

_Noreturn static void fail(const char *what, const char *error) {
    fprintf(stderr, "floor: %s: %s\n", what, error);
    exit(1);
}

static int connected(const char *port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(atoi(port))};
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) < 0)
        fail("service", "it cannot be reached");
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return connection;
}

// Sends a request, and returns the body of the response, which the next request overwrites. The body ends where the head says, or
// with the connection.
__attribute__((format(printf, 2, 3))) static const char *request(int connection, const char *format, ...) {
    static char reply[65536];
    char text[4096];
    va_list values;
    va_start(values, format);
    int count = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (count < 0 || count >= (int)sizeof text) fail("request", "it is too long");
    if (send(connection, text, count, MSG_NOSIGNAL) != count) fail("request", "it cannot be sent");
    size_t got = 0;
    const char *body = NULL;
    for (;;) {
        ssize_t step = recv(connection, reply + got, sizeof reply - 1 - got, 0);
        if (step < 0) fail("reply", "it cannot be received");
        reply[got += step] = 0;
        const char *end = strstr(reply, "\r\n\r\n"), *length = strcasestr(reply, "\r\nContent-Length: ");
        if (end) body = end + 4;
        if (step == 0 || (body && length && length < end && got >= body - reply + strtoul(length + 18, NULL, 10))) break;
    }
    if (!body || strncmp(reply, "HTTP/1.1 200 ", 13) != 0) fail("reply", "the status is not 200");
    return body;
}

// Makes the requests of a check, and confirms the user.
static void check(const struct floor_account *account, const char *port) {
    char id[256], wanted[300], path[256];
    const char *error = floor_string(account, "id", id, sizeof id);
    if (error) fail("account", error);
    int connection = connected(port);
    const char *body = request(connection, "GET /.well-known/openid-configuration HTTP/1.1\r\nHost: 127.0.0.1:%s\r\n\r\n", port);
    snprintf(wanted, sizeof wanted, "\"userinfo_endpoint\":\"http://127.0.0.1:%s", port);
    const char *endpoint = strstr(body, wanted);
    if (!endpoint || sscanf(endpoint + strlen(wanted), "%255[^\"]", path) != 1) fail("discovery", "it names no user info");
    body = request(connection, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAuthorization: Bearer %.*s\r\n\r\n", path, port,
                   (int)account->access_token_count, (const char *)account->access_token);
    snprintf(wanted, sizeof wanted, "\"sub\":\"%s\"", id);
    if (!strstr(body, wanted)) fail("user info", "it is for another user");
    close(connection);
}

static void range(const char *port, const char *key) {
    char json[1024];
    int connection = connected(port), count = snprintf(json, sizeof json, "{\"key\":\"%s\"}", key);
    const char *body = request(
        connection,
        "POST /v3/kv/range HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
        "Connection: close\r\n\r\n%s", port, count, json);
    if (!strstr(body, "\"kvs\"")) fail("etcd", "there is no such key");
    close(connection);
}

int main(int count, char **arguments) {
    const char *task = count > 1 ? arguments[1] : "";
    int needs_port = strcmp(task, "check") == 0 || strcmp(task, "range") == 0;
    if (count != (needs_port ? 4 : 3)) fail("usage", "floor whoami|save|none ROOT, floor check ROOT PORT, floor range PORT KEY");
    if (strcmp(task, "range") == 0) {
        range(arguments[2], arguments[3]);
        return 0;
    }
    if (strcmp(task, "none") == 0) return 0;
    const char *root = arguments[2];
    char folder[2048], archive[4096], lock[4096], key[4096], name[256];
    snprintf(folder, sizeof folder, "%s/Documents", root);
    snprintf(archive, sizeof archive, "%s/Account.plist", folder);
    snprintf(lock, sizeof lock, "%s/Account.lock", folder);
    snprintf(key, sizeof key, "%s/Library/Keys/Account.key", root);

    struct floor_account account;
    const char *error = floor_open(archive, key, "account", "default", &account);
    if (error) fail(archive, error);
    if (strcmp(task, "check") == 0) check(&account, arguments[3]);
    if (strcmp(task, "whoami") != 0 && (error = floor_change(&account, folder, archive, lock))) fail(archive, error);
    error = floor_string(&account, "username", name, sizeof name);
    if (!error && !*name) error = floor_string(&account, "id", name, sizeof name);
    if (error) fail(archive, error);
    puts(name);
    floor_close(&account);
    return 0;
}
