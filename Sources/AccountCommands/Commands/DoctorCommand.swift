import AccountKit
import ArgumentParser

struct DoctorCommand<App: AccountApplication>: ContextCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "doctor", abstract: "Find problems; with --fix, repair them where possible.",
            discussion: """
                Prints each problem with a command that solves it. The exit code is 0 only if there are no problems.\
                \(programHelp)

                  \(CommandLine.toolName) doctor
                  \(CommandLine.toolName) doctor --fix
                """)
    }

    private static var programHelp: String {
        App.commandGroups.isEmpty
            ? ""
            : " With --programs, notes list the other programs that use your sessions and explain how to set them up. "
                + "Notes do not affect the exit code."
    }

    @Flag(help: "Repair problems that can be repaired without losing data.")
    var fix = false

    @Flag(
        help: ArgumentHelp(
            "Also show how other programs, such as git, use your sessions.",
            visibility: App.commandGroups.isEmpty ? .hidden : .default))
    var programs = false

    @OptionGroup(title: "Common options") var options: CommonOptions

    private struct Document: Encodable {
        struct Part: Encodable {
            var problem: String
            var advice: String
            var isFixed: Bool
        }

        var isWell: Bool
        var findings: [Part]
        var notes: [String]
        var environment: [String: String]
    }

    func run() async throws {
        // Check permissions first: AccountKit opens no settings or archives in an untrusted folder.
        var folders: [Finding] = []
        // If there is no container, creating the context below fails too, and throws an error with the reason.
        if let container = try? App.container() {
            let inspection = ContainerInspection(
                container: container, homeVariable: "\(App.environmentPrefix)_HOME")
            folders = fix ? await inspection.repair() : inspection.findings()
        }
        try await perform({
            do {
                return try CommandContext(options)
            } catch let error as AccountError where error.code == .insecureContainer && !folders.isEmpty {
                try report(folders, [])
                throw error
            }
        }) { context in
            try await run(in: context, folders)
        }
    }

    private func run(in context: CommandContext<App>, _ folders: [Finding]) async throws {
        // Without threads, the checks below would wait forever.
        guard ThreadSupply.isSufficient else {
            let finding = Finding(problem: ThreadSupply.shortage, advice: ": raise the limit (`ulimit -a` shows it)")
            return try report(folders + [finding], [])
        }
        let sessions = SessionInspection(context: context)
        var findings = folders
        var others = try await sessions.findings()
        if fix { for index in others.indices { await others[index].repairIfPossible() } }
        findings += others
        findings += await sessions.storageFindings()
        if fix { await context.deliverRevocations(isRequested: true) }
        let account = await account(context)
        findings += await sessions.clockFindings(of: account)
        findings += await sessions.assertionFindings(of: account)
        if let (problem, advice) = MemoryProtection.problem() {
            findings.append(Finding(problem: problem, advice: advice))
        }
        for group in App.commandGroups { findings += await group.findings(context).filter { programs || !$0.isNote } }
        let all = findings
        findings.removeAll { $0.follows(from: all) }
        let environment = context.environment(of: account)
        findings += environment.compactMap(\.problem).map { Finding(problem: $0) }
        try report(findings, environment)
    }

    private func summary(of findings: [Finding]) -> String {
        let count = findings.filter { !$0.isFixed }.count
        let text = "\(count == 0 ? "no" : "\(count)") problem\(count == 1 ? "" : "s")"
        if fix { return "\(findings.count - count) fixed, \(text) left." }
        let repairable = findings.filter { $0.repair != nil }.count
        guard repairable > 0 else { return text + "." }
        let what = count == 1 ? "it" : "\(repairable) of them"
        return "\(text). Run `\(CommandLine.toolName) doctor --fix` to repair \(what)."
    }

    /// Returns the account; `nil` if opening the archive requires a passphrase. A separate finding reports an
    /// unreadable archive.
    private func account(_ context: CommandContext<App>) async -> Account? {
        guard (try? await context.archive.keySlots())?.contains(where: \.isAvailable) == true else { return nil }
        return await context.archive.load().account
    }

    private func report(
        _ findings: [Finding], _ environment: [NetworkSetting]
    ) throws {
        let notes = findings.filter(\.isNote)
        let findings = findings.filter { !$0.isNote }
        let isWell = findings.allSatisfy(\.isFixed)
        if options.json {
            try JSONDocument.print(
                Document(
                    isWell: isWell,
                    findings: findings.map { .init(problem: $0.problem, advice: $0.advice, isFixed: $0.isFixed) },
                    notes: notes.map { $0.problem + $0.advice }, environment: environment.values))
        } else {
            for finding in findings where !finding.isFixed {
                try Terminal.printParagraph("problem: \(finding.problem)\(finding.advice)", mark: .failure)
            }
            for finding in findings where finding.isFixed {
                try Terminal.printParagraph("fixed: \(finding.problem)", mark: .success)
            }
            if findings.isEmpty {
                try Terminal.printParagraph("No problems found.", mark: .success)
            }
            let texts = environment.filter { $0.problem == nil }.map(\.summary) + notes.map { $0.problem + $0.advice }
            if !texts.isEmpty { try Terminal.printLine("Notes:") }
            for text in texts { try Terminal.printParagraph(text, indent: 2) }
            if !findings.isEmpty { try Terminal.printParagraph(summary(of: findings)) }
        }
        if !isWell { throw ExitCode(78) }
    }
}
