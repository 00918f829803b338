// Tells Thread Sanitizer about the locks that Swift's `Mutex` takes in the kernel on Linux.
//
// The fast paths of a Mutex are atomic operations in the program itself, which the sanitizer sees. The slow paths are in
// libswiftSynchronization.so, which was not built for it: a lock after a wait looks like no lock, and access to the guarded value looks
// like a race. This library is loaded before libswiftSynchronization.so, and replaces its three functions.
//
// Built with the toolchain's clang, for Swift's calling convention.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

// Missing in programs without the sanitizer, which also load this library when a test starts them.
__attribute__((weak)) void __tsan_acquire(void *);
__attribute__((weak)) void __tsan_release(void *);

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex

#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK);
SWIFT bool try_lock_slow(SELF) __asm__(TRY_LOCK);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK);

static SWIFT void (*real_lock)(uint32_t thread, SELF);
static SWIFT bool (*real_try_lock)(SELF);
static SWIFT void (*real_unlock)(SELF);

__attribute__((constructor)) static void find(void) {
    real_lock = dlsym(RTLD_NEXT, LOCK);
    real_try_lock = dlsym(RTLD_NEXT, TRY_LOCK);
    real_unlock = dlsym(RTLD_NEXT, UNLOCK);
}

SWIFT void lock_slow(uint32_t thread, SELF) {
    real_lock(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT bool try_lock_slow(SELF) {
    bool is_locked = real_try_lock(mutex);
    if (is_locked && __tsan_acquire) __tsan_acquire(mutex);
    return is_locked;
}

SWIFT void unlock_slow(SELF) {
    if (__tsan_release) __tsan_release(mutex);
    real_unlock(mutex);
}
