import AccountKit

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Looks over the files and folders of a container: owners, modes, what a crash left behind.
struct ContainerInspection {
    /// Something that is not as it should be.
    struct Finding {
        var problem: String
        var advice: String
        var repair: (() throws -> Void)?
        var isFixed = false

        mutating func mend() {
            guard let repair else { return }
            do {
                try repair()
                isFixed = true
            } catch {
                advice += " (it could not be mended: \(error))"
            }
        }
    }

    let container: AppContainer

    func findings() throws -> [Finding] {
        var findings: [Finding] = []
        let folders = [container.root, container.keys.path(percentEncoded: false)]
        for folder in folders { findings += try check(folder, mode: 0o700, isFolder: true) }
        findings += try check(KeyFile(container: container).path, mode: 0o600, isFolder: false)
        for path in try KeyFile(container: container).leftovers() { findings.append(leftover(path)) }
        for session in [SessionName.default] + (try container.sessions().filter { $0 != .default }) {
            let folder = container.directory(of: session)
            findings += try check(folder, mode: 0o700, isFolder: true)
            for name in try SystemCall.names(in: folder) {
                let path = folder + "/" + name
                if FileArchiveStorage.isLeftover(name) {
                    findings.append(leftover(path))
                } else if name.contains("Account.") {
                    findings += try check(path, mode: 0o600, isFolder: false)
                }
            }
        }
        let preferences = container.preferences.path(percentEncoded: false)
        let sessions = preferences + "Sessions/"
        for folder in [preferences] + (try SystemCall.names(in: sessions).map { sessions + $0 + "/" }) {
            for name in try SystemCall.names(in: folder) where FileArchiveStorage.isLeftover(name) {
                findings.append(leftover(folder + name))
            }
        }
        return findings
    }

    private func leftover(_ path: String) -> Finding {
        Finding(
            problem: "\(path) was left behind by a crash", advice: ": the next change removes it",
            repair: { try SystemCall.remove(path) })
    }

    private func check(_ path: String, mode: UInt32, isFolder: Bool) throws -> [Finding] {
        guard let status = try isFolder ? SystemCall.targetStatus(path) : SystemCall.status(path) else { return [] }
        if status.owner != SystemCall.effectiveUser {
            let user = SystemCall.effectiveUser
            return [
                Finding(
                    problem: "\(path) belongs to user \(status.owner), this runs as user \(user)",
                    advice: ": run `chown \(user) '\(path)'` as root, or run this as that user", repair: nil)
            ]
        }
        if status.kind != (isFolder ? .directory : .regular) {
            return [
                Finding(
                    problem: "\(path) is not a \(isFolder ? "folder" : "file")", advice: ": move it away", repair: nil)
            ]
        }
        let excess = status.permissions & (isFolder ? 0o022 : 0o077)
        guard excess != 0 else { return [] }
        return [
            Finding(
                problem: "others can \(isFolder ? "write to" : "use") \(path)",
                advice: ": run `chmod \(String(mode, radix: 8)) '\(path)'`",
                repair: { try SystemCall.changePermissions(path, mode) })
        ]
    }
}
