import AccountCommands
import AccountKit

/// The systemd user units that keep tokens in files (systemd.unit(5)).
struct KeepUnits {
    let tool: String

    let folder: String

    private static let foldersOfAll = [
        "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user", "/lib/systemd/user",
    ]

    private var template: String { "\(tool)-keep@.service" }

    func unit(_ session: SessionName) -> String { "\(tool)-keep@\(session).service" }

    /// Returns the sessions of the units that start at each login, and whether the unit file of each exists.
    func enabled() throws(SystemCallError) -> [(session: SessionName, isThere: Bool)] {
        var found: [SessionName: Bool] = [:]
        let prefix = "\(tool)-keep@"
        for wants in try SystemCall.names(in: folder) where wants.hasSuffix(".wants") {
            for name in try SystemCall.names(in: "\(folder)/\(wants)") where name.hasPrefix(prefix) {
                // A name that is not a session belongs to another unit.
                guard name.hasSuffix(".service"),
                    let session = try? SessionName(String(name.dropFirst(prefix.count).dropLast(".service".count)))
                else { continue }
                let isThere = try SystemCall.targetStatus("\(folder)/\(wants)/\(name)") != nil
                found[session] = found[session] ?? false || isThere
            }
        }
        return found.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
    }

    func isInstalled() throws(SystemCallError) -> Bool {
        for folder in [folder] + Self.foldersOfAll where try SystemCall.targetStatus("\(folder)/\(template)") != nil {
            return true
        }
        return false
    }

    /// - Parameter state: Returns systemd's state of a unit (`ActiveState`); `nil` if it is unknown.
    func findings(_ state: (String) async -> String?) async throws -> [Finding] {
        let enabled = try enabled()
        guard !enabled.isEmpty else {
            guard try isInstalled() else { return [] }
            return [
                Finding(
                    problem: "no systemd unit keeps a token in a file",
                    advice: ": run `systemctl --user enable --now \(unit(.default))`", isNote: true)
            ]
        }
        var findings: [Finding] = []
        for (session, isThere) in enabled {
            let unit = unit(session)
            guard isThere else {
                findings.append(
                    Finding(
                        problem: "\(unit) is enabled in systemd, but its unit file does not exist",
                        advice: ": run `systemctl --user disable \(unit)`"))
                continue
            }
            switch await state(unit) {
            case "failed":
                findings.append(
                    Finding(
                        problem: "the token of session \(session) is not kept: \(unit) has failed",
                        advice: ": see `journalctl --user --unit \(unit)`"))
            case "inactive":
                findings.append(
                    Finding(
                        problem: "the token of session \(session) is not kept: \(unit) is not running",
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
