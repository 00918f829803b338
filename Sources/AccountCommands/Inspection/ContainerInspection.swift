import AccountKit

/// Checks the files and folders of a container: owners, permissions, what a crash left behind.
struct ContainerInspection {
    let container: AppContainer

    func findings() throws -> [Finding] {
        var findings: [Finding] = []
        for folder in [container.root, container.keysPath] {
            findings += try check(folder, mode: 0o700, isFolder: true)
            findings += try checkParents(of: folder)
        }
        for session in [SessionName.default] + (try container.sessions().filter { $0 != .default }) {
            findings += try checkKeys(of: session)
            let folder = container.directory(of: session)
            findings += try check(folder, mode: 0o700, isFolder: true)
            for name in try SystemCall.names(in: folder) {
                let path = folder + "/" + name
                let storage = FileArchiveStorage(container: container, session: session)
                if storage.isLeftover(name) {
                    findings.append(leftover(path, in: storage))
                } else if name.contains("Account.") {
                    findings += try check(path, mode: 0o600, isFolder: false)
                }
            }
        }
        let preferences = Preferences(container: container).folder
        let sessions = preferences + "/Sessions/"
        for folder in [preferences] + (try SystemCall.names(in: sessions).map { sessions + $0 }) {
            let storage = FileArchiveStorage(folder: folder)
            for name in try SystemCall.names(in: folder) where storage.isLeftover(name) {
                findings.append(leftover(folder + "/" + name, in: storage))
            }
        }
        return findings
    }

    private func checkKeys(of session: SessionName) throws -> [Finding] {
        let file = KeyFile(container: container, session: session)
        var findings = try check(file.path, mode: 0o600, isFolder: false)
        for path in try file.leftovers() {
            findings.append(leftover(path, in: FileArchiveStorage(container: container, session: session)))
        }
        if try SystemCall.status(file.path) != nil, let (program, folder) = try SyncedFolder.around(file.path) {
            findings.append(
                Finding(
                    problem: "the key file \(file.path) is in \(folder), which \(program) copies elsewhere",
                    advice: ": whoever gets that copy and one of the archive can open it; move the keys out of there "
                        + "(XDG_STATE_HOME), or open the archive with a passphrase instead (`\(CommandLine.toolName) key add passphrase`)"
                ))
        }
        return findings
    }

    /// Removed under the lock, when nobody can be using it.
    private func leftover(_ path: String, in storage: FileArchiveStorage) -> Finding {
        Finding(
            problem: "\(path) was left behind by a crash", advice: ": the next change removes it",
            repair: {
                let transaction = try await storage.beginTransaction(timeout: .seconds(10))
                let result = Result { try SystemCall.remove(path) }
                await transaction.end()
                _ = try result.get()
            })
    }

    private func check(_ path: String, mode: UInt32, isFolder: Bool) throws -> [Finding] {
        guard let status = try isFolder ? SystemCall.targetStatus(path) : SystemCall.status(path) else { return [] }
        if status.owner != SystemCall.effectiveUser {
            let (owner, user) = (SystemCall.userName(status.owner), SystemCall.userName(SystemCall.effectiveUser))
            return [
                Finding(
                    problem: "\(path) belongs to \(owner), and this runs as \(user)",
                    advice: ": run it as \(owner), or run `sudo chown \(SystemCall.effectiveUser) \(path.shellWord)`")
            ]
        }
        if status.kind != (isFolder ? .directory : .regular) {
            return [
                Finding(problem: "\(path) is not a \(isFolder ? "folder" : "file")", advice: ": move it away")
            ]
        }
        // The user's own folders may be readable by others; those that this tool creates may not.
        let mask: UInt32 = isFolder && isUsersOwn(path) ? 0o022 : 0o077
        guard status.permissions & mask != 0 else { return [] }
        let what = status.permissions & 0o022 != 0 && isFolder ? "write to" : isFolder ? "look into" : "use"
        return [
            Finding(
                problem: "others can \(what) \(path)",
                advice: ": run `chmod \(isUsersOwn(path) ? "go-w" : String(mode, radix: 8)) \(path.shellWord)`",
                repair: {
                    try SystemCall.changePermissions(path, isUsersOwn(path) ? status.permissions & ~mask : mode)
                })
        ]
    }

    /// A folder that was there before this tool, as with `ACCOUNT_HOME=$HOME`.
    private func isUsersOwn(_ path: String) -> Bool {
        guard let home = Environment.homeDirectory else { return false }
        return path == home || path == home + "/Documents"
    }

    /// Whoever can write to a parent folder can replace what is below it.
    private func checkParents(of path: String) throws -> [Finding] {
        var findings: [Finding] = []
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
            folder = folder[..<slash]
            // The root is checked by itself.
            guard folder != container.root, let status = try SystemCall.targetStatus(String(folder)) else { continue }
            let isShared = status.permissions & 0o022 != 0 && status.permissions & 0o1000 == 0
            let isForeign = status.owner != SystemCall.effectiveUser && status.owner != 0
            guard isShared || isForeign else { continue }
            findings.append(
                Finding(
                    problem: isForeign
                        ? "\(folder), which \(path) is in, belongs to \(SystemCall.userName(status.owner))"
                        : "others can write to \(folder), which \(path) is in",
                    advice: ": they could put a folder of theirs in place of yours; "
                        + (isForeign ? "keep the account elsewhere" : "run `chmod go-w \(String(folder).shellWord)`")))
        }
        return findings
    }
}
