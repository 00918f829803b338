import AccountKit
import AccountSupport

/// Checks the files and folders of a container: owners, permissions, and leftovers of crashes.
struct ContainerInspection {
    let container: AppContainer

    /// The variable with the folder for all files.
    var homeVariable = "ACCOUNT_HOME"

    /// Repairs everything that can be repaired without losing data, and returns the findings.
    ///
    /// A repair may have to wait for others: nothing below a folder that other users can change is changed, and a folder that
    /// cannot be read hides what is in it.
    func repair() async -> [Finding] {
        var fixed: [Finding] = []
        var tried: Set<String> = []
        while true {
            var findings = findings()
            // A repair that had no effect does not count and is not tried again.
            fixed.removeAll { earlier in findings.contains { $0.problem == earlier.problem } }
            for index in findings.indices where !tried.contains(findings[index].problem) {
                await findings[index].repairIfPossible()
                if findings[index].isFixed { tried.insert(findings[index].problem) }
            }
            let new = findings.filter(\.isFixed)
            guard !new.isEmpty else { return fixed + findings }
            fixed += new
        }
    }

    func findings() -> [Finding] {
        var findings: [Finding] = []
        func add(_ body: () throws -> [Finding]) {
            do {
                findings += try body()
            } catch {
                findings.append(Finding(problem: error.userText))
            }
        }
        var sessions: [SessionName] = []
        add {
            sessions = try container.listedSessions().filter { $0 != .default }
            return []
        }
        sessions.insert(.default, at: 0)
        let preferences = Preferences(container: container)
        add { try checkFolders(sessions, preferences) }
        for session in sessions {
            let storage = FileArchiveStorage(container: container, session: session)
            add { try checkKeys(of: session, storage) }
            add { try checkFiles(in: container.directory(of: session), storage) }
        }
        let registrations = FileArchiveStorage(folder: container.registrationsPath, in: container)
        add { try check(KeyFile(registrationsIn: container), registrations) }
        add { try checkFiles(in: container.registrationsPath, registrations) }
        for folder in [preferences.folder] + sessions.map({ preferences.folder(of: $0) }) {
            let storage = FileArchiveStorage(folder: folder, in: container)
            add {
                try SystemCall.names(in: folder).filter { storage.isLeftover($0) }
                    .map { leftover(folder + "/" + $0, in: storage) }
            }
        }
        return findings
            + SavingInspection(
                container: container, sessions: sessions, homeVariable: homeVariable
            ).findings()
    }

    private func checkFolders(_ sessions: [SessionName], _ preferences: Preferences) throws -> [Finding] {
        var findings: [Finding] = []
        var checked: Set<String> = []
        for folder in [container.root, container.keysPath] {
            findings += try check(folder, mask: 0o077, isFolder: true) + checkParents(of: folder)
            checked.insert(folder)
        }
        for session in sessions {
            let documents = container.directory(of: session)
            if checked.insert(documents).inserted { findings += try check(documents, mask: 0o077, isFolder: true) }
            for folder in [documents, KeyFile(container: container, session: session).path.parentDirectory]
                + [preferences.folder, preferences.folder(of: session)]
            {
                // Other users may read these folders if the permissions of the parent folders allow it.
                for part in container.folder(folder).foldersFromRoot where checked.insert(part).inserted {
                    findings += try check(part, mask: 0o022, isFolder: true)
                }
            }
        }
        for folder in [
            container.registrationsPath, KeyFile(registrationsIn: container).path.parentDirectory,
            container.revocationsPath,
        ] {
            for part in container.folder(folder).foldersFromRoot where checked.insert(part).inserted {
                findings += try check(part, mask: 0o022, isFolder: true)
            }
        }
        return findings
    }

    private func checkFiles(in folder: String, _ storage: FileArchiveStorage) throws -> [Finding] {
        try SystemCall.names(in: folder).flatMap { name in
            let path = folder + "/" + name
            if storage.isLeftover(name) { return [leftover(path, in: storage)] }
            let moved =
                name.contains(".plist.unreadable")
                ? [
                    Finding(
                        problem: "\(path) could not be opened, and was moved aside",
                        advice: ": remove the file with `rm \(path.shellWord)` if you no longer need it", isNote: true)
                ] : []
            let isSecret = name.contains("Account.") || name.hasPrefix("Client-")
            return moved + (isSecret ? try check(path, mask: 0o077, isFolder: false) : [])
        }
    }

    private func check(_ file: KeyFile, _ storage: FileArchiveStorage) throws -> [Finding] {
        try check(file.path, mask: 0o077, isFolder: false) + file.leftovers().map { leftover($0, in: storage) }
    }

    private func checkKeys(of session: SessionName, _ storage: FileArchiveStorage) throws -> [Finding] {
        let file = KeyFile(container: container, session: session)
        let hint = CommandHint(session: session)
        var findings = try check(file, storage)
        if try SystemCall.status(file.path) != nil, let (program, folder) = try SyncedFolder.around(file.path) {
            findings.append(
                Finding(
                    problem: "the key file \(file.path) is in \(folder), which \(program) copies elsewhere",
                    advice: ": a copy of the key file opens a copy of the archive. Use a passphrase instead: "
                        + "`\(hint.command("key add passphrase")) && \(hint.command("key remove file"))`"))
        }
        return findings
    }

    /// Returns a finding whose repair removes the file under the lock, so that no process is using the file.
    private func leftover(_ path: String, in storage: FileArchiveStorage) -> Finding {
        Finding(
            problem: "\(path) was left behind by a crash",
            advice: ": `\(CommandLine.toolName) doctor --fix` removes it",
            repair: {
                try await storage.withTransaction(timeout: .seconds(10)) { _ in _ = try SystemCall.remove(path) }
            })
    }

    /// - Parameter mask: The permissions that are a problem.
    private func check(_ path: String, mask: UInt32, isFolder: Bool) throws -> [Finding] {
        let found: FileStatus?
        do {
            found = try isFolder ? TrustedLinks.targetStatus(path) : SystemCall.status(path)
        } catch let error as AccountError where error.code == .insecureContainer {
            return [
                Finding(problem: error.message, advice: error.hint.map { ": \($0)" } ?? "", insecurePath: path)
            ]
        }
        guard let status = found else { return [] }
        if status.owner != SystemCall.effectiveUser {
            let (owner, user) = (SystemCall.userName(status.owner), SystemCall.userName(SystemCall.effectiveUser))
            return [
                Finding(
                    problem: "\(path) belongs to \(owner), but this command runs as \(user)",
                    advice: ": run `sudo chown \(SystemCall.effectiveUser) \(path.shellWord)`", insecurePath: path)
            ]
        }
        if status.kind != (isFolder ? .directory : .regular) {
            return [
                Finding(
                    problem: "\(path) is not a \(isFolder ? "folder" : "file")",
                    advice: ": run `mv \(path.shellWord) \((path + ".moved").shellWord)`")
            ]
        }
        // Other users may read the user's own folders, but not the folders that this tool creates.
        let mask: UInt32 = isFolder && isUsersOwn(path) ? 0o022 : mask
        guard status.permissions & mask != 0 else { return [] }
        let what = status.permissions & 0o022 != 0 && isFolder ? "write to" : isFolder ? "read" : "read or change"
        let mode: UInt32 = mask == 0o022 ? status.permissions & ~mask : isFolder ? 0o700 : 0o600
        let folder = container.folder(isFolder ? path : path.parentDirectory)
        return [
            Finding(
                problem: "other users can \(what) \(path)",
                advice: ": run `chmod \(mask == 0o022 ? "go-w" : String(mode, radix: 8)) \(path.shellWord)`",
                insecurePath: path,
                // The target of a link may be a folder of other programs, so only the user can repair it.
                repair: try folder.leadsThroughLink() ? nil : { try folder.changePermissions(of: path, to: mode) })
        ]
    }

    /// Returns whether a folder is the user's own and was not created by this tool, as with `ACCOUNT_HOME=$HOME`.
    private func isUsersOwn(_ path: String) -> Bool {
        guard let home = Environment.homeDirectory else { return false }
        return path == home || path == home + "/Documents"
    }

    /// Checks the parent folders: a user with write access to a parent folder can replace the folders below it.
    private func checkParents(of path: String) throws -> [Finding] {
        var findings: [Finding] = []
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
            folder = folder[..<slash]
            // The root and the folders in it are checked separately.
            guard folder != container.root, !folder.hasPrefix(container.root + "/"),
                let status = try SystemCall.targetStatus(String(folder))
            else { continue }
            let isShared = status.permissions & 0o022 != 0 && status.permissions & 0o1000 == 0
            let isForeign = status.owner != SystemCall.effectiveUser && status.owner != 0
            guard isShared || isForeign else { continue }
            findings.append(
                Finding(
                    problem: isForeign
                        ? "\(folder), which contains \(path), belongs to \(SystemCall.userName(status.owner))"
                        : "other users can write to \(folder), which contains \(path)",
                    advice: ": another user could replace your folder; "
                        + (isForeign ? "store the account elsewhere" : "run `chmod go-w \(String(folder).shellWord)`"),
                    insecurePath: String(folder)))
        }
        return findings
    }
}
