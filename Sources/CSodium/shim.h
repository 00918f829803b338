#if defined(__has_include) && !__has_include(<sodium.h>)
#error "AccountKit needs libsodium: apt install libsodium-dev (Debian, Ubuntu), dnf install libsodium-devel (Fedora), brew install libsodium (macOS)"
#else
#include <sodium.h>
#endif
