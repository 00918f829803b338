import AccountCommands
import AccountKit
import AccountSupport

/// Checks which programs are configured to use sessions, and whether these sessions exist. A program that is not
/// installed has no finding, and a program that is not configured has only a note.
struct ProgramInspection<App: AccountApplication> {
    let context: CommandContext<App>

    private static var maximumByteCount: Int { 4 << 20 }

    func findings() async -> [Finding] {
        let surroundings: ProgramSurroundings
        do {
            surroundings = try self.surroundings()
        } catch {
            return [Finding(error)]
        }
        var findings = await gitFindings(surroundings)
        // Programs that are named after the tool require it to be a separate command, not a subcommand.
        if !context.tool.contains(" ") { findings += dockerFindings(surroundings) }
        var users = surroundings.rules.sorted.map { (session: $0.session, what: $0.url.description) }
        let kube = await kubeFindings(surroundings)
        findings += kube.findings
        users += kube.users
        for path in MCPSetup.paths(home: Self.home, configuration: Self.configurationFolder) {
            findings += mcpFindings(path, surroundings)
        }
        return summarized(findings) + (await sessionFindings(users)) + (await signInFindings(surroundings.rules))
    }

    /// Returns what a program does with its present configuration, after `setup` has changed it.
    ///
    /// - Parameter file: The file of the MCP client; `nil` for other programs.
    func findings(of program: SetupProgram, file: String?) async throws -> [Finding] {
        let surroundings = try surroundings()
        let findings =
            switch program {
            case .git: await gitFindings(surroundings)
            case .docker: dockerFindings(surroundings)
            case .kubectl: await kubeFindings(surroundings).findings
            case .mcp: file.map { mcpFindings($0, surroundings) } ?? []
            }
        return findings.filter { $0.missingProgram == nil }
    }

    private func surroundings() throws -> ProgramSurroundings {
        let program = ToolProgram(String(context.tool.prefix { $0 != " " }))
        return ProgramSurroundings(
            tool: context.tool, rules: try context.preferences.rules(), isInstalled: program.isInstalled,
            isSameFile: program.isSameFile, location: { InstalledProgram($0)?.path })
    }

    /// Names all programs that do not use the sessions in one note.
    private func summarized(_ findings: [Finding]) -> [Finding] {
        let missing = findings.compactMap(\.missingProgram)
        guard !missing.isEmpty else { return findings }
        let commands = missing.map { "`\(context.tool) setup \($0)`" }.joined(separator: ", ")
        let note = Finding(
            problem: "these programs are installed, but do not ask this tool for tokens: "
                + missing.joined(separator: ", "),
            advice: "; for setup, run \(commands)", isNote: true)
        return findings.filter { $0.missingProgram == nil } + [note]
    }

    // MARK: The sessions that programs use

    /// Names the rules whose sessions now have the token of another sign-in.
    private func signInFindings(_ rules: RuleSet) async -> [Finding] {
        var findings: [Finding] = []
        for rule in rules.sorted where rule.signIn != nil {
            // Another check reports an unreadable session.
            guard let account = try? await context.archive(of: rule.session, isInteractive: false).load().account else {
                continue
            }
            do throws(AccountError) {
                try rule.checkSignIn(of: account, context.hint)
            } catch {
                findings.append(Finding(error))
            }
        }
        return findings
    }

    private func sessionFindings(_ users: [(session: SessionName, what: String)]) async -> [Finding] {
        var findings: [Finding] = []
        for session in Set(users.map(\.session)).sorted(by: { $0.rawValue < $1.rawValue }) {
            // Another check reports an unreadable session.
            guard let store = try? context.archive(of: session, isInteractive: false),
                case .signedOut(let signOut) = await store.load()
            else { continue }
            let places = users.filter { $0.session == session }.map(\.what)
            findings.append(
                Finding(
                    problem: "no user is signed in to session \(session), so there is no token for "
                        + places.joined(separator: ", "),
                    advice: ": sign in with `\(context.hint(for: session).command("login"))`",
                    // A user who signed out needs no warning.
                    isNote: signOut.reason == .signedOutByUser))
        }
        return findings
    }

    // MARK: Programs

    private func gitFindings(_ surroundings: ProgramSurroundings) async -> [Finding] {
        guard surroundings.isInstalled("git") else { return [] }
        let setup = await GitSetup.read()
        let lock = GitConfigurationLock.found().map(\.finding)
        return [lock].compactMap(\.self) + setup.findings(surroundings, answers: await setup.answers(surroundings))
    }

    private func dockerFindings(_ surroundings: ProgramSurroundings) -> [Finding] {
        let folder = AccountSupport.Environment.value("DOCKER_CONFIG") ?? Self.home + "/.docker"
        let path = folder + "/config.json"
        do {
            guard let bytes = try read(path) else { return DockerSetup(path: path).findings(surroundings) }
            guard let setup = DockerSetup(bytes, path: path) else {
                return [Finding(problem: "\(path) is not a JSON object, so it was not inspected", isNote: true)]
            }
            return setup.findings(surroundings) + hiddenFindings(setup, surroundings)
        } catch {
            return [unreadable(path, error)]
        }
    }

    /// Reports what programs read before docker's configuration.
    private func hiddenFindings(_ setup: DockerSetup, _ surroundings: ProgramSurroundings) -> [Finding] {
        var findings: [Finding] = []
        if let text = AccountSupport.Environment.value("DOCKER_AUTH_CONFIG"),
            let earlier = DockerSetup(Array(text.utf8), path: "$DOCKER_AUTH_CONFIG")
        {
            findings += setup.findings(hiddenBy: earlier, for: "docker 28.3 or later", removal: nil, surroundings)
        }
        if let path = surroundings.location("docker"), path.hasPrefix("/snap/"), !setup.helpers.isEmpty {
            findings.append(
                Finding(
                    problem: "docker from snap (\(path)) cannot read \(setup.path) or run this tool",
                    advice: ": install docker from another source", isNote: true))
        }
        guard let program = DockerSetup.containerTools.first(where: surroundings.isInstalled) else { return findings }
        let paths =
            AccountSupport.Environment.value("REGISTRY_AUTH_FILE").map { [$0] }
            ?? [AccountSupport.Environment.value("XDG_RUNTIME_DIR"), Self.configurationFolder].compactMap(\.self)
            .map { $0 + "/containers/auth.json" }
        for path in paths {
            // An unreadable file is a matter of the other program.
            guard let bytes = try? read(path), let earlier = DockerSetup(bytes, path: path) else { continue }
            findings += setup.findings(hiddenBy: earlier, for: program, removal: "\(program) logout", surroundings)
        }
        return findings
    }

    private func mcpFindings(_ path: String, _ surroundings: ProgramSurroundings) -> [Finding] {
        do {
            return try read(path).flatMap { MCPSetup($0, path: path) }?.findings(surroundings) ?? []
        } catch {
            return [unreadable(path, error)]
        }
    }

    private func kubeFindings(
        _ surroundings: ProgramSurroundings
    ) async -> (findings: [Finding], users: [(session: SessionName, what: String)]) {
        let named = AccountSupport.Environment.value("KUBECONFIG")?.split(separator: ":").map(String.init)
        var findings: [Finding] = []
        var users: [(session: SessionName, what: String)] = []
        var isThere = surroundings.isInstalled("kubectl")
        var isSetUp = false
        let view = isThere ? await KubeView.read() : nil
        let merged = view?.setup.ownUsers(surroundings.tool, surroundings.program, in: ".").map(\.name)
        for path in named ?? [Self.home + "/.kube/config"] {
            do {
                guard let bytes = try read(path) else { continue }
                isThere = true
                let setup = KubeSetup(bytes)
                findings += setup.findings(path: path, surroundings)
                for user in setup.ownUsers(surroundings.tool, surroundings.program, in: path.parentDirectory) {
                    isSetUp = true
                    if let merged, !merged.contains(user.name) {
                        findings.append(
                            Finding(
                                problem:
                                    "kubectl takes the user \(user.name.shown) from another file in $KUBECONFIG, and not "
                                    + "from \(path), so it does not ask this tool",
                                advice: ": give one of them another name"))
                    }
                    // Without a name, the session is the rule's or the current one.
                    guard let session = user.session.flatMap({ try? SessionName($0) }) else { continue }
                    users.append((session, "kubectl's user \(user.name.shown)"))
                }
            } catch {
                isThere = true
                findings.append(unreadable(path, error))
            }
        }
        findings += view?.findings(surroundings) ?? []
        if isThere, !isSetUp {
            findings.append(
                Finding(
                    problem: "kubectl does not ask this tool for tokens",
                    advice: ": run `\(KubeCredentialCommand<App>.setUp)`", isNote: true, missingProgram: "kubectl"))
        }
        return (findings, users)
    }

    // MARK: Files

    private static var home: String { AccountSupport.Environment.homeDirectory ?? "" }

    /// The user's configuration folder. A relative value is ignored, as the XDG Base Directory specification requires.
    private static var configurationFolder: String {
        if let folder = AccountSupport.Environment.value("XDG_CONFIG_HOME"), folder.hasPrefix("/") { return folder }
        return home + "/.config"
    }

    private func read(_ path: String) throws -> [UInt8]? {
        let target = try TrustedLinks.resolve(path)
        guard let status = try SystemCall.status(target), status.kind == .regular else { return nil }
        return try FileDescriptor.openForReading(target)
            .read(limit: Self.maximumByteCount, expected: status.byteCount)
    }

    private func unreadable(_ path: String, _ error: any Error) -> Finding {
        Finding(problem: "\(path) was not inspected: \(error.userText)", isNote: true)
    }
}
