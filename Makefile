# The commands of contributors. Each command first installs missing packages (Debian; root or sudo).

PREFIX ?= /usr/local
# `no` links to the C library and libsodium of the system, instead of building a static file.
STATIC ?= yes

# To use another toolchain: make SWIFT=/path/to/swift
export SWIFT = swift
# These scripts build this package and the integration tests in the same folder.
BUILD = Scripts/build.sh root
BUILD_INTEGRATION = Scripts/build.sh integration

.PHONY: help build test check verify format demo fleet-demo auth-server simulate flights fuzz bench speed-baseline speed-order
.PHONY: docs docs-serve docs-update demo-picture install uninstall deb clean

help: ## list the commands
	@sed -n -E 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/p' Makefile | expand --tabs=16

build: ## compile the package
	@Scripts/bootstrap.sh build
	$(BUILD)

test: ## run the unit tests and the end-to-end tests
	@Scripts/test.sh

check: ## check format, doc comments, links, public API, shell scripts, imports and the installation
	@Scripts/check.sh

# PART and SINCE exclude each other: see CONTRIBUTING.md.
verify: ## run everything else: PART=name runs one part, SINCE=revision those that guard what has changed
	@Scripts/verify.sh $(if $(SINCE),--since '$(SINCE)',$(PART))

format: ## format the sources
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Verification Examples IntegrationTests \
		Benchmarks/Package.swift Benchmarks/Sources

demo: ## sign in, go offline, refresh, revoke and sign out, with the real command and the test server
	@Scripts/bootstrap.sh demo
	$(BUILD_INTEGRATION) --product account
	$(BUILD_INTEGRATION) --product auth-server
	@Examples/demo.sh

fleet-demo: ## share one session across three machines with an etcd cluster
	@Scripts/bootstrap.sh fleet
	$(BUILD_INTEGRATION) --product account
	$(BUILD_INTEGRATION) --product auth-server
	@Examples/fleet-demo.sh

auth-server: PORT = 8080
auth-server: ## build `account`, and start the test authorization server on http://127.0.0.1:8080 (or PORT=n)
	@Scripts/bootstrap.sh build
	$(BUILD_INTEGRATION) --product account
	$(BUILD_INTEGRATION) --product auth-server
	@"$$($(BUILD_INTEGRATION) --show-bin-path)/auth-server" --notes --port $(PORT)

simulate: ## simulate a million random lives of a session; SEED=n [MISTAKE=name] prints the steps of one
	@Scripts/bootstrap.sh simulation
	@Verification/Simulation/run.sh $(if $(SEED),seed $(SEED) $(MISTAKE),1000000)

flights: export ACCOUNTKIT_VERIFY = 1
flights: ## simulate a thousand random sequences of offline changes; FLIGHT=n prints the steps of one
	@Scripts/bootstrap.sh faults
	$(BUILD) --product account
	$(BUILD) --product archive-exerciser
	$(BUILD) --product offline-exerciser
	FLIGHT=$(FLIGHT) python3 -B Verification/Faults/faults.py --part flights --flights 1000 \
		--build "$$($(BUILD) --show-bin-path)"

fuzz: ## search for input that crashes a parser, for SECONDS=600 each
	@Scripts/bootstrap.sh fuzz
	@Verification/Fuzz/run.sh $(or $(SECONDS),600)

# On an otherwise idle machine. The benchmarks measure the command that `make install` installs.
bench: ## compare times with other tools and with a lower bound, and write Benchmarks/RESULTS.md
	@Scripts/bootstrap.sh benchmarks
	@Benchmarks/run.sh

speed-baseline: ## update the counts, for a commit that changes them on purpose
	@Scripts/bootstrap.sh speed
	@Scripts/speed.sh update

speed-order: ## update the list of functions that the linker places side by side
	@Scripts/bootstrap.sh speed
	@Scripts/speed.sh order

docs: ## build the documentation in .build/documentation
	@Scripts/bootstrap.sh docs
	@Scripts/docs.sh .build/documentation

docs-serve: PORT = 8000
docs-serve: docs ## serve the documentation at http://127.0.0.1:8000/documentation (or PORT=n)
	@echo 'http://127.0.0.1:$(PORT)/documentation'
	@python3 -m http.server --bind 127.0.0.1 --directory .build/documentation $(PORT)

docs-update: ## update generated documentation: the code of the articles, and the page of the commands
	@Scripts/bootstrap.sh docs
	Scripts/snippets.py --update
	$(BUILD) --product account
	Scripts/commands_page.py "$$($(BUILD) --show-bin-path)/account" --update

demo-picture: ## draw the picture in the README, from a terminal that runs an example
	@Scripts/bootstrap.sh picture
	$(BUILD_INTEGRATION) --product gists
	$(BUILD_INTEGRATION) --product auth-server
	Examples/picture.sh >.build/picture.txt
	Scripts/terminal_svg.py --squeeze --title $(PICTURE) <.build/picture.txt >Documentation/demo.svg

# The title of the picture for screen readers; its text in the README is the same.
PICTURE = 'A terminal: a user signs in, stays signed in without the network, and pushes with git in the same session'

# `make check` installs the debug build.
KIND = $(if $(filter no,$(STATIC)),portable,static)
RELEASE = .build/release-$(KIND)
INSTALLED_DATA = share/bash-completion/completions/account share/zsh/site-functions/_account \
    share/fish/vendor_completions.d/account.fish

install: ## install the command, its completions and manual pages in PREFIX=/usr/local
	@Scripts/bootstrap.sh install
	@Scripts/release.sh $(KIND) $(RELEASE)
	install -D -m 755 $(RELEASE)/bin/account '$(DESTDIR)$(PREFIX)/bin/account'
	ln -sf account '$(DESTDIR)$(PREFIX)/bin/docker-credential-account'
	for file in $(INSTALLED_DATA); do install -D -m 644 "$(RELEASE)/$$file" "$(DESTDIR)$(PREFIX)/$$file" || exit; done
	install -d -m 755 '$(DESTDIR)$(PREFIX)/share/man/man1'
	install -m 644 $(RELEASE)/share/man/man1/*.1 '$(DESTDIR)$(PREFIX)/share/man/man1'

# The names of the manual pages come from the documentation, so uninstalling needs no build.
uninstall: ## remove the installed files
	for file in bin/account bin/docker-credential-account $(INSTALLED_DATA); do rm -f "$(DESTDIR)$(PREFIX)/$$file" || exit; done
	pages=$$(Scripts/manual.py --list) || exit; \
	for page in $$pages; do rm -f "$(DESTDIR)$(PREFIX)/share/man/man1/$$page" || exit; done

deb: ## build a Debian package of these files in .build/deb
	@Scripts/bootstrap.sh deb
	@Scripts/deb.sh .build/deb

clean: ## delete all builds
	rm -rf .build Examples/.build IntegrationTests/.build Benchmarks/.build
