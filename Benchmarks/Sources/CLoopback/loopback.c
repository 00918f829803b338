#define _GNU_SOURCE
#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int listener = -1;
static char discovery[1024];
static _Atomic uint64_t spent_time, answered;

static const char user_info[] =
    "{\"sub\":\"248289761001\",\"preferred_username\":\"alice\",\"name\":\"Alice Example\",\"email\":\"alice@example.com\"}";
static const char tokens[] =
    "{\"access_token\":\"benchmark-access-token-0123456789abcdef\",\"token_type\":\"Bearer\",\"expires_in\":3600,"
    "\"refresh_token\":\"benchmark-refresh-token-0123456789abcdef\"}";

static uint64_t thread_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const char *reply_to(const char *request) {
    if (strncmp(request, "GET /.well-known/openid-configuration ", 38) == 0) return discovery;
    if (strncmp(request, "GET /userinfo ", 14) == 0 && strcasestr(request, "\r\nauthorization: Bearer ")) return user_info;
    if (strncmp(request, "POST /token ", 12) == 0) return tokens;
    return NULL;
}

static int send_all(int connection, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(connection, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0) return 0;
        bytes += sent;
        count -= sent;
    }
    return 1;
}

static void *serve(void *argument) {
    int connection = (int)(intptr_t)argument, yes = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    char request[16384], reply[2048];
    size_t count = 0;
    uint64_t before = thread_time();
    for (;;) {
        ssize_t got = recv(connection, request + count, sizeof request - 1 - count, 0);
        if (got <= 0) break;
        request[count += got] = 0;
        char *end = strstr(request, "\r\n\r\n");
        if (!end) continue;
        const char *length = strcasestr(request, "\r\ncontent-length:");
        size_t whole = end + 4 - request + (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
        if (count < whole) continue;
        const char *body = reply_to(request);
        int size = snprintf(reply, sizeof reply,
                            "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                            body ? "200 OK" : "404 Not Found", body ? strlen(body) : 0, body ? body : "");
        if (!send_all(connection, reply, size)) break;
        memmove(request, request + whole, count - whole);
        count -= whole;
        uint64_t now = thread_time();
        spent_time += now - before;
        answered += 1;
        before = now;
    }
    close(connection);
    return NULL;
}

static void *accept_all(void *unused) {
    (void)unused;
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        if (connection < 0) continue;
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)connection) == 0) pthread_detach(thread);
        else close(connection);
    }
    return NULL;
}

uint16_t loopback_start(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    pthread_t thread;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 512) < 0
        || getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        return 0;
    uint16_t port = ntohs(address.sin_port);
    snprintf(discovery, sizeof discovery,
             "{\"issuer\":\"http://127.0.0.1:%1$u\",\"token_endpoint\":\"http://127.0.0.1:%1$u/token\","
             "\"userinfo_endpoint\":\"http://127.0.0.1:%1$u/userinfo\"}",
             port);
    return pthread_create(&thread, NULL, accept_all, NULL) == 0 ? port : 0;
}

void loopback_usage(uint64_t *nanoseconds, uint64_t *requests) {
    *nanoseconds = spent_time;
    *requests = answered;
}
