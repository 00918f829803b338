# Everything a contributor does. Whatever is missing on the machine is installed first (Debian; root or sudo).

PREFIX ?= /usr/local
# `no` takes the C library and libsodium from the system, instead of one file with everything.
STATIC ?= yes

SWIFT = swift
# An import of a module that the target does not depend on is an error: the direction of the modules is kept by the build.
BUILD_FLAGS = --explicit-target-dependency-import-check error
# The modules that not everybody needs, for all that is built of this package itself.
TRAITS = --traits Offline
# The examples are built where the package is, so that what they share is compiled once.
EXAMPLES = --package-path Examples --scratch-path .build

# All tests at once would wait for each other's turns longer than some of them wait for a lock.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 16

.PHONY: all build demo fleet-demo test model simulate simulate-all faults faults-all flights tsan fuzz fuzz-long bench check format docs install uninstall deb
.PHONY: docs-serve docs-update demo-picture speed speed-baseline clean

all: build

build:
	@Scripts/bootstrap.sh build
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS)

# Signs in, goes offline, is refreshed, revoked and signed out, with the real command against the example server.
demo:
	@Scripts/bootstrap.sh demo
	$(SWIFT) build $(EXAMPLES) $(BUILD_FLAGS) --product account
	$(SWIFT) build $(EXAMPLES) $(BUILD_FLAGS) --product auth-server
	@Examples/demo.sh

# One sign-in on three machines, which share an etcd cluster.
fleet-demo:
	@Scripts/bootstrap.sh fleet
	$(SWIFT) build $(EXAMPLES) $(BUILD_FLAGS) --product account
	$(SWIFT) build $(EXAMPLES) $(BUILD_FLAGS) --product auth-server
	@Examples/fleet-demo.sh

test:
	@Scripts/bootstrap.sh test
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS) --build-tests
	$(SWIFT) test $(TRAITS) --skip-build --skip 'SystemTests|ReaderTests'
# These wait for processes, which holds up tests that watch the clock; so they have a run of their own.
	$(SWIFT) test $(TRAITS) --skip-build --filter 'SystemTests|ReaderTests' --skip AccountFleetSystemTests
# Clusters watch the clock themselves, and lose what nobody has time to keep alive: so two at a time.
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=2 $(SWIFT) test $(TRAITS) --skip-build --filter AccountFleetSystemTests
	$(SWIFT) build $(EXAMPLES) $(BUILD_FLAGS) --build-tests
	$(SWIFT) test $(EXAMPLES) --skip-build --xunit-output .build/end-to-end.xml
	@Scripts/services.py .build/end-to-end-swift-testing.xml
	@Tests/Model/check.sh
	@Tests/Simulation/run.sh 20000

# Tries everything that can happen in a model of the session's life: two programs, a service, deaths and full disks.
model:
	@Scripts/bootstrap.sh test
	@Tests/Model/check.sh

# Lives of a session at random, 20,000 or a million; SEED=n [MISTAKE=name] shows one of them in words.
simulate:
	@Scripts/bootstrap.sh build
	@Tests/Simulation/run.sh $(if $(SEED),seed $(SEED) $(MISTAKE),20000)

simulate-all:
	@Scripts/bootstrap.sh build
	@Tests/Simulation/run.sh 1000000

# Nothing is lost: each system call fails, the process dies, the power goes, the disk is full, the cluster of a shared session
# loses its leader, its network, its room. About six minutes.
faults:
	@Scripts/bootstrap.sh faults
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS) --product account
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS) --product archive-exerciser
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS) --product offline-exerciser
	$(SWIFT) build $(EXAMPLES) $(BUILD_FLAGS) --product auth-server
	python3 -B Tests/Faults/faults.py --build "$$($(SWIFT) build $(TRAITS) --show-bin-path)"

# The same with each error at each call, death before each call, and many more combinations. About twenty minutes.
faults-all:
	@Scripts/bootstrap.sh faults
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS) --product account
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS) --product archive-exerciser
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS) --product offline-exerciser
	$(SWIFT) build $(EXAMPLES) $(BUILD_FLAGS) --product auth-server
	python3 -B Tests/Faults/faults.py --all --build "$$($(SWIFT) build $(TRAITS) --show-bin-path)"

# A thousand flights: fifty changes without the network, deaths, losses; FLIGHT=n shows one of them in words.
flights:
	@Scripts/bootstrap.sh faults
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS) --product account
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS) --product offline-exerciser
	FLIGHT=$(FLIGHT) python3 -B Tests/Faults/faults.py --part flights --flights 1000 \
		--build "$$($(SWIFT) build $(TRAITS) --show-bin-path)"

# The tests of what threads do at once, under Thread Sanitizer. A build of its own: some minutes the first time.
tsan:
	@Scripts/bootstrap.sh test
	@Tests/Threads/run.sh

# Looks for bytes that crash a reader of them, or break its promises: a short search, and one for a night.
fuzz:
	@Scripts/bootstrap.sh fuzz
	@Tests/Fuzz/run.sh 5

fuzz-long:
	@Scripts/bootstrap.sh fuzz
	@Tests/Fuzz/run.sh 600

# How long things take beside others and beside the least that they could take, into Benchmarks/RESULTS.md. About twenty
# minutes after the first build, on a machine that does nothing else. What is measured is what `make install` installs.
bench:
	@Scripts/bootstrap.sh bench
	@Scripts/release.sh static .build/release-static
	$(SWIFT) build --package-path Benchmarks -c release $(BUILD_FLAGS)
	$(SWIFT) build --package-path Benchmarks -c release $(BUILD_FLAGS) --product BenchmarkTool
	$(SWIFT) build --package-path Benchmarks -c release $(BUILD_FLAGS) --product offline-bench
	$(SWIFT) build --package-path Benchmarks -c release $(BUILD_FLAGS) --product fleet-storm
	@Benchmarks/gists.sh .build/release-static/bin/gists
	@Benchmarks/nio-floor.sh
	python3 -B Benchmarks/run.py --gists .build/release-static/bin/gists --account .build/release-static/bin/account \
		--build "$$($(SWIFT) build --package-path Benchmarks -c release --show-bin-path)"

# Format, documentation of everything public, documentation pages, shell scripts, public API, installing, speed.
check:
	@Scripts/bootstrap.sh check
	@Scripts/check.sh

format:
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Examples/Package.swift Examples/Sources Examples/Tests \
		Benchmarks/Package.swift Benchmarks/Sources Benchmarks/Benchmarks

docs:
	@Scripts/bootstrap.sh docs
	@Scripts/docs.sh .build/documentation

# The same in a browser of this machine; PORT=n for another port. Ctrl-C ends it.
PORT ?= 8000
docs-serve: docs
	@echo 'http://127.0.0.1:$(PORT)/documentation'
	@python3 -m http.server --bind 127.0.0.1 --directory .build/documentation $(PORT)

# What is written from something else: the code of the articles, and the page of the commands.
docs-update:
	@Scripts/bootstrap.sh docs
	Scripts/snippets.py --update
	$(SWIFT) build $(TRAITS) $(BUILD_FLAGS) --product account
	Scripts/commands_page.py "$$($(SWIFT) build $(TRAITS) --show-bin-path)/account" --update

# The picture in the README, from what the demo says.
demo-picture:
	@Scripts/bootstrap.sh demo
	$(SWIFT) build $(EXAMPLES) $(BUILD_FLAGS) --product account
	$(SWIFT) build $(EXAMPLES) $(BUILD_FLAGS) --product auth-server
	Examples/demo.sh >.build/demo.txt
	Scripts/terminal_svg.py --parts 1,3,5,6:1 <.build/demo.txt >Documentation/demo.svg

RELEASE = .build/release-$(if $(filter no,$(STATIC)),portable,static)
MANUALS = account account-exec account-git-credential account-keep account-kube-credential docker-credential-account
INSTALLED_DATA = share/bash-completion/completions/account share/zsh/site-functions/_account \
    share/fish/vendor_completions.d/account.fish $(MANUALS:%=share/man/man1/%.1)
# Where systemd looks for units of all users (systemd.unit(5)), for the prefixes /usr and /usr/local.
UNIT = lib/systemd/user/account-keep@.service

# The command, the name that docker knows it by, its completions for bash, zsh and fish, its manual pages, and a unit for
# systemd. The first time takes minutes.
install:
	@Scripts/bootstrap.sh install
	@Scripts/release.sh $(patsubst .build/release-%,%,$(RELEASE)) $(RELEASE)
	install -D -m 755 $(RELEASE)/bin/account '$(DESTDIR)$(PREFIX)/bin/account'
	ln -sf account '$(DESTDIR)$(PREFIX)/bin/docker-credential-account'
	for file in $(INSTALLED_DATA); do install -D -m 644 "$(RELEASE)/$$file" "$(DESTDIR)$(PREFIX)/$$file" || exit; done
	sed 's|@BINDIR@|$(PREFIX)/bin|' Scripts/systemd/account-keep@.service >$(RELEASE)/account-keep@.service
	install -D -m 644 $(RELEASE)/account-keep@.service '$(DESTDIR)$(PREFIX)/$(UNIT)'

uninstall:
	for file in bin/account bin/docker-credential-account $(INSTALLED_DATA) $(UNIT); do rm -f "$(DESTDIR)$(PREFIX)/$$file" || exit; done

# A Debian package of the same, for machines without Swift.
deb:
	@Scripts/bootstrap.sh deb
	@Scripts/deb.sh .build/deb

# Counts the instructions of what is done all the time, and says whether they grew; the first time builds what is installed.
speed:
	@Scripts/bootstrap.sh speed
	@Scripts/speed.sh check

# Takes over the counts of now, for the commit that changes them on purpose.
speed-baseline:
	@Scripts/bootstrap.sh speed
	@Scripts/speed.sh update

clean:
	rm -rf .build Examples/.build Benchmarks/.build
