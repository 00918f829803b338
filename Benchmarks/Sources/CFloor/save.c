#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *floor_save(const char *folder, const char *path, const void *bytes, size_t count) {
    char temporary[4096];
    if (snprintf(temporary, sizeof temporary, "%s.new", path) >= (int)sizeof temporary) return "the path is too long";
    int file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return strerror(errno);
    const char *error = NULL;
    for (size_t written = 0; written < count && !error;) {
        ssize_t step = write(file, (const char *)bytes + written, count - written);
        if (step < 0) error = strerror(errno);
        else written += step;
    }
    if (!error && fsync(file) < 0) error = strerror(errno);
    if (close(file) < 0 && !error) error = strerror(errno);
    if (!error && rename(temporary, path) < 0) error = strerror(errno);
    if (error) {
        unlink(temporary);
        return error;
    }
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return strerror(errno);
    if (fsync(directory) < 0) error = strerror(errno);
    close(directory);
    return error;
}
