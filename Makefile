# Everything a contributor does. Whatever is missing on the machine is installed first (Debian; root or sudo).

PREFIX ?= /usr/local

SWIFT = swift
# An import of a module that the target does not depend on is an error: the direction of the modules is kept by the build.
BUILD_FLAGS = --explicit-target-dependency-import-check error

.PHONY: all build demo test model faults faults-all fuzz fuzz-long check format docs install uninstall clean

all: build

build:
	@Scripts/bootstrap.sh build
	$(SWIFT) build $(BUILD_FLAGS)

# Signs in, goes offline, is refreshed, revoked and signed out, with the real command against the example server.
demo:
	@Scripts/bootstrap.sh demo
	$(SWIFT) build $(BUILD_FLAGS) --product account
	$(SWIFT) build --package-path Examples $(BUILD_FLAGS) --product auth-server
	@Examples/demo.sh

test:
	@Scripts/bootstrap.sh test
	$(SWIFT) build $(BUILD_FLAGS) --build-tests
	$(SWIFT) test --skip-build --skip 'SystemTests|ReaderTests'
# These wait for processes, which holds up tests that watch the clock; so they have a run of their own.
	$(SWIFT) test --skip-build --filter 'SystemTests|ReaderTests'
	$(SWIFT) build --package-path Examples $(BUILD_FLAGS) --build-tests
	$(SWIFT) test --package-path Examples --skip-build
	@Tests/Model/check.sh

# Tries everything that can happen in a model of the session's life: two programs, a service, deaths and full disks.
model:
	@Scripts/bootstrap.sh test
	@Tests/Model/check.sh

# Nothing is lost: each system call fails, the process dies, the power goes, the disk is full. About two minutes.
faults:
	@Scripts/bootstrap.sh faults
	$(SWIFT) build $(BUILD_FLAGS) --product account
	$(SWIFT) build $(BUILD_FLAGS) --product archive-exerciser
	python3 -B Tests/Faults/faults.py --build "$$($(SWIFT) build --show-bin-path)"

# The same with each error at each call, death before each call, and many more combinations. About ten minutes.
faults-all:
	@Scripts/bootstrap.sh faults
	$(SWIFT) build $(BUILD_FLAGS) --product account
	$(SWIFT) build $(BUILD_FLAGS) --product archive-exerciser
	python3 -B Tests/Faults/faults.py --all --build "$$($(SWIFT) build --show-bin-path)"

# Looks for bytes that crash a reader of them, or break its promises: a short search, and one for a night.
fuzz:
	@Scripts/bootstrap.sh fuzz
	@Tests/Fuzz/run.sh 5

fuzz-long:
	@Scripts/bootstrap.sh fuzz
	@Tests/Fuzz/run.sh 600

# Format, documentation of everything public, documentation pages, shell scripts, public API.
check:
	@Scripts/bootstrap.sh check
	@Scripts/check.sh

format:
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Examples/Package.swift Examples/Sources Examples/Tests

docs:
	@Scripts/docs.sh .build/documentation

install:
	@Scripts/bootstrap.sh build
	$(SWIFT) build -c release --static-swift-stdlib --product account
	install -d '$(DESTDIR)$(PREFIX)/bin'
	install -m 755 -s "$$($(SWIFT) build -c release --static-swift-stdlib --show-bin-path)/account" '$(DESTDIR)$(PREFIX)/bin/account'

uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/account'

clean:
	rm -rf .build Examples/.build
