// The operations of the command in C: floor whoami|token|save ROOT, floor check ROOT PORT.
//
// check: reads the account, makes the two requests of a session check, and durably writes the same archive again. save:
// the same without the requests.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floor.h"

static void fail(const char *what, const char *error) {
    fprintf(stderr, "floor: %s: %s\n", what, error);
    exit(1);
}

// Sends a request, and waits for the head of the response and the body that the head announces.
static void request(int connection, const char *text, size_t count) {
    char reply[8192];
    size_t got = 0;
    if (send(connection, text, count, 0) != (ssize_t)count) fail("request", "it cannot be sent");
    for (;;) {
        ssize_t step = recv(connection, reply + got, sizeof reply - 1 - got, 0);
        if (step <= 0) fail("reply", "it ends early");
        reply[got += step] = 0;
        const char *end = strstr(reply, "\r\n\r\n"), *length = strcasestr(reply, "\r\nContent-Length: ");
        if (end && length && got >= (size_t)(end + 4 - reply) + strtoul(length + 18, NULL, 10)) break;
    }
    if (strncmp(reply, "HTTP/1.1 200 ", 13) != 0) fail("reply", "the status is not 200");
}

static void check(const struct floor_account *account, const char *port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(atoi(port))};
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) < 0)
        fail("service", "it cannot be reached");
    char text[4096];
    int count = snprintf(text, sizeof text, "GET /.well-known/openid-configuration HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    request(connection, text, count);
    count = snprintf(text, sizeof text, "GET /userinfo HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %.*s\r\n\r\n",
                     (int)account->access_token_count, account->access_token);
    request(connection, text, count);
    close(connection);
}

int main(int count, char **arguments) {
    if (count < 3) fail("usage", "floor whoami|token|save ROOT, floor check ROOT PORT");
    const char *task = arguments[1], *root = arguments[2];
    char folder[2048], archive[4096], key[4096], name[256];
    snprintf(folder, sizeof folder, "%s/Documents", root);
    snprintf(archive, sizeof archive, "%s/Account.plist", folder);
    snprintf(key, sizeof key, "%s/Library/Keys/Account.key", root);

    struct floor_account account;
    const char *error = floor_open(archive, key, "account", "default", &account);
    if (error) fail(archive, error);
    if (strcmp(task, "check") == 0) {
        if (count < 4) fail("usage", "floor check ROOT PORT");
        check(&account, arguments[3]);
    }
    if (strcmp(task, "check") == 0 || strcmp(task, "save") == 0) {
        unsigned char *bytes;
        size_t byte_count;
        if ((error = floor_read(archive, 1 << 20, &bytes, &byte_count))) fail(archive, error);
        if ((error = floor_save(folder, archive, bytes, byte_count))) fail(archive, error);
        free(bytes);
    }
    if (strcmp(task, "token") == 0) {
        fwrite(account.access_token, 1, account.access_token_count, stdout);
        putchar('\n');
    } else {
        error = floor_string(&account, "username", name, sizeof name);
        if (!error && !*name) error = floor_string(&account, "id", name, sizeof name);
        if (error) fail(archive, error);
        puts(name);
    }
    floor_close(&account);
    return 0;
}
