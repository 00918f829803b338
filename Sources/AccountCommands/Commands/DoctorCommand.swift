import AccountKit
import ArgumentParser

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `doctor`: looks for what may go wrong, and mends what it can.
struct DoctorCommand<App: AccountApplication>: AccountSubcommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "doctor", abstract: "Look for problems; with --fix, mend those that can be mended.",
            discussion: "Exits with 0 only if all is well.")
    }

    @Flag(help: "Mend what can be mended without losing anything.")
    var fix = false

    @OptionGroup var options: CommonOptions

    private struct Document: Encodable {
        struct Part: Encodable {
            var problem: String
            var advice: String
            var isFixed: Bool
        }

        var isWell: Bool
        var findings: [Part]
        var environment: [String: String]
    }

    func run(in context: CommandContext<App>) async throws {
        let inspection = ContainerInspection(container: context.container)
        var findings = try inspection.findings()
        if fix { for index in findings.indices { findings[index].mend() } }
        for session in try context.container.sessions() {
            guard case .unreadable(let error) = await context.store(of: session).load() else { continue }
            findings.append(
                ContainerInspection.Finding(problem: "session \(session): \(error)", advice: "", repair: nil))
        }
        if App.takesIssuer {
            do {
                _ = try await context.preferences.service(of: context.session)
            } catch {
                findings.append(ContainerInspection.Finding(problem: "\(error)", advice: "", repair: nil))
            }
        }
        let environment = await context.environment(of: await context.store.load().account)
        for setting in environment {
            guard let problem = setting.problem else { continue }
            findings.append(ContainerInspection.Finding(problem: problem, advice: "", repair: nil))
        }
        let isWell = findings.allSatisfy(\.isFixed)
        if options.json {
            try JSONDocument.print(
                Document(
                    isWell: isWell,
                    findings: findings.map { .init(problem: $0.problem, advice: $0.advice, isFixed: $0.isFixed) },
                    environment: environment.values))
        } else {
            for setting in environment where setting.problem == nil {
                Terminal.writeLine("note: \(setting.summary)", to: .output)
            }
            for finding in findings {
                let mark = finding.isFixed ? "fixed" : "problem"
                Terminal.writeLine("\(mark): \(finding.problem)\(finding.isFixed ? "" : finding.advice)", to: .output)
            }
            if findings.isEmpty {
                Terminal.writeLine(
                    "All is well in \(context.container.documents.path(percentEncoded: false)).", to: .output)
            }
        }
        if !isWell { throw ExitStatus.misconfigured }
    }
}
