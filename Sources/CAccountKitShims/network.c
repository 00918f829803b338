#define _GNU_SOURCE

#include "AccountKitNetwork.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__) && __has_include(<linux/inet_diag.h>)
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

int accountkit_socket_owner(
    int is_ipv6, const uint8_t *server, uint16_t server_port, const uint8_t *client, uint16_t client_port, uint32_t *user, uint32_t *inode) {
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 query;
    } request;
    memset(&request, 0, sizeof request);
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.query.sdiag_family = is_ipv6 ? AF_INET6 : AF_INET;
    request.query.sdiag_protocol = IPPROTO_TCP;
    request.query.idiag_states = ~0U;
    struct inet_diag_sockid *id = &request.query.id;
    memcpy(id->idiag_src, server, is_ipv6 ? 16 : 4);
    memcpy(id->idiag_dst, client, is_ipv6 ? 16 : 4);
    id->idiag_sport = htons(server_port);
    id->idiag_dport = htons(client_port);
    id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;

    int descriptor = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (descriptor < 0) return errno;
    // The kernel answers immediately.
    struct timeval limit = {.tv_sec = 1};
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    union {
        struct nlmsghdr header;
        char bytes[4096];
    } response;
    ssize_t count = send(descriptor, &request, sizeof request, 0);
    if (count >= 0) count = recv(descriptor, &response, sizeof response, 0);
    int error = count < 0 ? errno : EPROTO;
    close(descriptor);
    if (count < 0 || !NLMSG_OK(&response.header, (size_t)count)) return error;
    if (response.header.nlmsg_type == NLMSG_ERROR && response.header.nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
        const struct nlmsgerr *failure = NLMSG_DATA(&response.header);
        return failure->error < 0 ? -failure->error : EPROTO;
    }
    if (response.header.nlmsg_type != SOCK_DIAG_BY_FAMILY || response.header.nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg))) return EPROTO;
    const struct inet_diag_msg *found = NLMSG_DATA(&response.header);
    *user = found->idiag_uid;
    *inode = found->idiag_inode;
    return 0;
}
#else
int accountkit_socket_owner(
    int is_ipv6, const uint8_t *server, uint16_t server_port, const uint8_t *client, uint16_t client_port, uint32_t *user, uint32_t *inode) {
    (void)is_ipv6, (void)server, (void)server_port, (void)client, (void)client_port, (void)user, (void)inode;
    return ENOSYS;
}
#endif
