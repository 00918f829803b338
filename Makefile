# The tasks of contributors. Each task first installs missing packages (Debian; root or sudo).

PREFIX ?= /usr/local
# `no` links to the C library and libsodium of the system, instead of building a static file.
STATIC ?= yes

# To use another toolchain: make SWIFT=/path/to/swift
SWIFT = swift
# These scripts build this package and the integration tests in the same folder.
BUILD = Scripts/build.sh root
BUILD_INTEGRATION = Scripts/build.sh integration
# `swift test --skip-build` needs only the options that select the package.
TRAITS = --enable-all-traits
INTEGRATION = --package-path IntegrationTests --scratch-path .build
BENCHMARKS = SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT) build --package-path Benchmarks -c release --explicit-target-dependency-import-check error

# If all tests ran at once, some would wait longer for their turn than their timeout for a lock.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH ?= 16

# The tests that search all orders of results, or all damaged files.
SEARCHES = FlowSearchTests|DerivationFlowTests|CheckFlowTests|AccountImportTests

.PHONY: all build demo fleet-demo auth-server test tests simulate simulate-all faults faults-all flights tsan fuzz fuzz-long bench check format docs install uninstall deb
.PHONY: docs-serve docs-update demo-picture speed speed-baseline clean

all: build

build:
	@Scripts/bootstrap.sh build
	$(BUILD)

# Signs in, goes offline, refreshes, revokes and signs out, with the real command and the example server.
demo:
	@Scripts/bootstrap.sh demo
	$(BUILD_INTEGRATION) --product account
	$(BUILD_INTEGRATION) --product auth-server
	@Examples/demo.sh

# Demonstrates one session on three machines that share an etcd cluster.
fleet-demo:
	@Scripts/bootstrap.sh fleet
	$(BUILD_INTEGRATION) --product account
	$(BUILD_INTEGRATION) --product auth-server
	@Examples/fleet-demo.sh

# Builds `account` as well, and starts the test authorization server, for experiments: http://127.0.0.1:8080, or PORT=n. Ctrl-C ends it.
auth-server: PORT = 8080
auth-server:
	@Scripts/bootstrap.sh build
	$(BUILD_INTEGRATION) --product account
	$(BUILD_INTEGRATION) --product auth-server
	@"$$($(BUILD_INTEGRATION) --show-bin-path)/auth-server" --notes --port $(PORT)

test: tests simulate

# All unit tests and integration tests.
tests:
	@Scripts/bootstrap.sh test
	$(BUILD_INTEGRATION) --build-tests
	$(BUILD) --build-tests
	$(SWIFT) test $(TRAITS) --skip-build --skip 'SystemTests|ReaderTests|$(SEARCHES)'
# Run these tests separately: they occupy all processors for a minute, which would delay tests with time limits.
	$(SWIFT) test $(TRAITS) --skip-build --filter '$(SEARCHES)'
# Run these tests separately: they wait for processes, which would delay tests with time limits.
	$(SWIFT) test $(TRAITS) --skip-build --filter 'SystemTests|ReaderTests' --skip AccountFleetSystemTests
# Leases in a cluster expire if a busy machine sends keep-alives too late, so only two of these tests run at a time.
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=2 $(SWIFT) test $(TRAITS) --skip-build --filter AccountFleetSystemTests
# These tests start 12,000 processes, so they run the command that `make install` installs: it starts several times as fast as the command
# of the debug build. Tests that replace the clock or use a TPM need shared libraries, so they run the debug build. So do the demos.
	@Scripts/release.sh static .build/release-static
	INSTALLED_ACCOUNT='$(CURDIR)/.build/release-static/bin/account' \
		$(SWIFT) test $(INTEGRATION) --skip-build --xunit-output .build/end-to-end.xml
	@Scripts/services.py .build/end-to-end-swift-testing.xml
	@Verification/Install/examples.sh "$$($(BUILD_INTEGRATION) --show-bin-path)"
	@Verification/Install/quick-start.sh "$$($(BUILD_INTEGRATION) --show-bin-path)"

# Simulates 20,000 or a million random lives of a session; SEED=n [MISTAKE=name] prints the steps of one of them.
simulate:
	@Scripts/bootstrap.sh build
	@Verification/Simulation/run.sh $(if $(SEED),seed $(SEED) $(MISTAKE),20000)

simulate-all:
	@Scripts/bootstrap.sh build
	@Verification/Simulation/run.sh 1000000

# Checks that no data is lost if a system call fails, the process dies, the power is cut or the disk is full, or if the cluster of a
# shared session loses its leader, its network or its disk space. About eight minutes; SHARE=n makes an error only at one call in n.
SHARE ?= 1
faults:
	@Scripts/bootstrap.sh faults
	$(BUILD) --product account
	$(BUILD) --product archive-exerciser
	$(BUILD) --product offline-exerciser
	$(BUILD_INTEGRATION) --product auth-server
	python3 -B Verification/Faults/faults.py --share $(SHARE) --build "$$($(BUILD) --show-bin-path)"

# Makes the same checks with each error at each call, a crash before each call, and many more combinations. About an hour.
faults-all:
	@Scripts/bootstrap.sh faults
	$(BUILD) --product account
	$(BUILD) --product archive-exerciser
	$(BUILD) --product offline-exerciser
	$(BUILD_INTEGRATION) --product auth-server
	python3 -B Verification/Faults/faults.py --all --build "$$($(BUILD) --show-bin-path)"

# Runs a thousand random sequences of fifty changes without the network, with crashes and losses; FLIGHT=n prints the steps of one.
flights:
	@Scripts/bootstrap.sh faults
	$(BUILD) --product account
	$(BUILD) --product offline-exerciser
	FLIGHT=$(FLIGHT) python3 -B Verification/Faults/faults.py --part flights --flights 1000 \
		--build "$$($(BUILD) --show-bin-path)"

# Runs the unit tests of the modules with unchecked code under Thread Sanitizer. The first build takes some minutes.
tsan:
	@Scripts/bootstrap.sh test
	@Verification/Threads/run.sh

# Searches for input that crashes a reader or breaks its guarantees: a short search, and one for a night.
fuzz:
	@Scripts/bootstrap.sh fuzz
	@Verification/Fuzz/run.sh 5

fuzz-long:
	@Scripts/bootstrap.sh fuzz
	@Verification/Fuzz/run.sh 600

# Compares times with other tools and with a lower bound, and writes Benchmarks/RESULTS.md. About twenty minutes after the first build, on
# an otherwise idle machine. The benchmarks measure the command that `make install` installs.
bench:
	@Scripts/bootstrap.sh bench
	@Scripts/release.sh static .build/release-static
	$(BENCHMARKS)
	$(BENCHMARKS) --product BenchmarkTool
	$(BENCHMARKS) --product offline-bench
	$(BENCHMARKS) --product fleet-storm
# The installed command is static, and so contains no TPM.
	$(BENCHMARKS) --product account
	@Benchmarks/gists.sh .build/release-static/bin/gists
	@Benchmarks/nio-floor.sh
	python3 -B Benchmarks/run.py --gists .build/release-static/bin/gists --account .build/release-static/bin/account \
		--build "$$($(BENCHMARKS) --show-bin-path)"

# Checks format, comments of public declarations, documentation pages, shell scripts, public API, installation and speed.
check:
	@Scripts/bootstrap.sh check
	@Scripts/check.sh

format:
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Verification Examples IntegrationTests \
		Benchmarks/Package.swift Benchmarks/Sources Benchmarks/Benchmarks

docs:
	@Scripts/bootstrap.sh docs
	@Scripts/docs.sh .build/documentation

# Serves the documentation to a browser on this machine; PORT=n for another port. Ctrl-C ends it.
PORT ?= 8000
docs-serve: docs
	@echo 'http://127.0.0.1:$(PORT)/documentation'
	@python3 -m http.server --bind 127.0.0.1 --directory .build/documentation $(PORT)

# Updates generated documentation: the code of the articles, and the page of the commands.
docs-update:
	@Scripts/bootstrap.sh docs
	Scripts/snippets.py --update
	$(BUILD) --product account
	Scripts/commands_page.py "$$($(BUILD) --show-bin-path)/account" --update

# Draws the picture in the README, from a terminal that runs an example. The user is offline for two minutes.
demo-picture:
	@Scripts/bootstrap.sh picture
	$(BUILD_INTEGRATION) --product gists
	$(BUILD_INTEGRATION) --product auth-server
	Examples/picture.sh >.build/picture.txt
	Scripts/terminal_svg.py --squeeze --title $(PICTURE) <.build/picture.txt >Documentation/demo.svg

# The title of the picture for screen readers; its text in the README is the same.
PICTURE = 'A terminal: a user signs in, stays signed in without the network, and pushes with git in the same session'

RELEASE = .build/release-$(if $(filter no,$(STATIC)),portable,static)
INSTALLED_DATA = share/bash-completion/completions/account share/zsh/site-functions/_account \
    share/fish/vendor_completions.d/account.fish
# The folder of units of all users (systemd.unit(5)), for the prefixes /usr and /usr/local.
UNIT = lib/systemd/user/account-keep@.service

# Installs the command, its link for docker, its completions for bash, zsh and fish, its manual pages, and a systemd unit. The first
# build takes minutes.
install:
	@Scripts/bootstrap.sh install
	@Scripts/release.sh $(patsubst .build/release-%,%,$(RELEASE)) $(RELEASE)
	install -D -m 755 $(RELEASE)/bin/account '$(DESTDIR)$(PREFIX)/bin/account'
	ln -sf account '$(DESTDIR)$(PREFIX)/bin/docker-credential-account'
	for file in $(INSTALLED_DATA); do install -D -m 644 "$(RELEASE)/$$file" "$(DESTDIR)$(PREFIX)/$$file" || exit; done
	install -d -m 755 '$(DESTDIR)$(PREFIX)/share/man/man1'
	install -m 644 $(RELEASE)/share/man/man1/*.1 '$(DESTDIR)$(PREFIX)/share/man/man1'
	sed 's|@BINDIR@|$(PREFIX)/bin|' Scripts/systemd/account-keep@.service >$(RELEASE)/account-keep@.service
	install -D -m 644 $(RELEASE)/account-keep@.service '$(DESTDIR)$(PREFIX)/$(UNIT)'

# The names of the manual pages come from the documentation, so uninstalling needs no build.
uninstall:
	for file in bin/account bin/docker-credential-account $(INSTALLED_DATA) $(UNIT); do rm -f "$(DESTDIR)$(PREFIX)/$$file" || exit; done
	pages=$$(Scripts/manual.py --list) || exit; \
	for page in $$pages; do rm -f "$(DESTDIR)$(PREFIX)/share/man/man1/$$page" || exit; done

# Builds a Debian package of these files, for machines without Swift.
deb:
	@Scripts/bootstrap.sh deb
	@Scripts/deb.sh .build/deb

# Counts the instructions of frequent operations, and reports growth. The first run builds the installed command.
speed:
	@Scripts/bootstrap.sh speed
	@Scripts/speed.sh check

# Updates the baseline, for a commit that changes the counts on purpose.
speed-baseline:
	@Scripts/bootstrap.sh speed
	@Scripts/speed.sh update

clean:
	rm -rf .build Examples/.build IntegrationTests/.build Benchmarks/.build
