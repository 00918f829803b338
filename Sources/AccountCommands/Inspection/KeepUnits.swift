import AccountKit

/// The units of the person's systemd that keep tokens in files (systemd.unit(5)).
struct KeepUnits {
    /// What a person types for these commands.
    let tool: String

    /// Where the person's own units are.
    let folder: String

    private static let foldersOfAll = [
        "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user",
    ]

    private var template: String { "\(tool)-keep@.service" }

    func unit(_ session: SessionName) -> String { "\(tool)-keep@\(session).service" }

    /// Those that are started at each login, each with whether there is a unit file that it leads to.
    func enabled() throws(SystemCallError) -> [(session: SessionName, isThere: Bool)] {
        var found: [SessionName: Bool] = [:]
        let prefix = "\(tool)-keep@"
        for wants in try SystemCall.names(in: folder) where wants.hasSuffix(".wants") {
            for name in try SystemCall.names(in: "\(folder)/\(wants)") where name.hasPrefix(prefix) {
                // What is no session's name is a unit of somebody else's.
                guard name.hasSuffix(".service"),
                    let session = try? SessionName(String(name.dropFirst(prefix.count).dropLast(".service".count)))
                else { continue }
                let isThere = try SystemCall.targetStatus("\(folder)/\(wants)/\(name)") != nil
                found[session] = found[session] ?? false || isThere
            }
        }
        return found.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
    }

    /// Whether there is a unit file to enable.
    func isInstalled() throws(SystemCallError) -> Bool {
        for folder in [folder] + Self.foldersOfAll where try SystemCall.targetStatus("\(folder)/\(template)") != nil {
            return true
        }
        return false
    }

    /// - Parameter state: What systemd says of a unit (`ActiveState`); `nil` if it is not asked.
    func findings(_ state: (String) async -> String?) async throws -> [Finding] {
        let enabled = try enabled()
        guard !enabled.isEmpty else {
            guard try isInstalled() else { return [] }
            return [
                Finding(
                    problem: "systemd keeps no token in a file",
                    advice: ": `systemctl --user enable --now \(unit(.default))` changes that", isNote: true)
            ]
        }
        var findings: [Finding] = []
        for (session, isThere) in enabled {
            let unit = unit(session)
            guard isThere else {
                findings.append(
                    Finding(
                        problem: "systemd is to start \(unit), and there is no such unit file",
                        advice: ": run `systemctl --user disable \(unit)`"))
                continue
            }
            switch await state(unit) {
            case "failed":
                findings.append(
                    Finding(
                        problem: "systemd keeps no token of session \(session): \(unit) has failed",
                        advice: ": `journalctl --user --unit \(unit)` says why"))
            case "inactive":
                findings.append(
                    Finding(
                        problem: "systemd keeps no token of session \(session) now: \(unit) is not running",
                        advice: ": start it with `systemctl --user start \(unit)`", isNote: true))
            default:
                findings.append(
                    Finding(
                        problem: "systemd runs \(unit), which keeps the token of session \(session) in a file",
                        isNote: true))
            }
        }
        return findings
    }
}
