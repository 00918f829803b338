// What the kernel knows about connections.
#ifndef ACCOUNTKIT_NETWORK_H
#define ACCOUNTKIT_NETWORK_H

#include <stdint.h>

/// Asks Linux which socket of this machine receives the packets that a client sends to a server, and to whom this socket belongs
/// (sock_diag(7)). This is the socket of an accepted connection, or else one that listens there.
///
/// The addresses have 4 bytes (IPv4) or 16 bytes, in network byte order. `user` receives the owner, and `inode` a number; 0 if no program has
/// accepted the connection yet. Returns 0, or an error number: ENOENT if there is no such socket, ENOSYS on other systems.
int accountkit_socket_owner(
    int is_ipv6, const uint8_t *server, uint16_t server_port, const uint8_t *client, uint16_t client_port, uint32_t *user, uint32_t *inode);

#endif
