import AccountKit
import AccountSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Checks that the tool can save files in all folders of a container.
struct SavingInspection {
    let folders: [String]

    /// The variable with the folder for all files.
    private let homeVariable: String

    /// The folder of the ``SessionIndex`` of revocations, which needs no space.
    private let index: String

    /// More bytes than the archive and the settings of a session need.
    private static let byteCount = 32 * 1024

    init(container: AppContainer, sessions: [SessionName], homeVariable: String) {
        self.homeVariable = homeVariable
        let preferences = Preferences(container: container).folder
        var folders = [container.documentsPath, container.keysPath, preferences]
        for session in sessions {
            folders += [container.directory(of: session)]
            folders += [container.keysPath, preferences].map { $0 + "/Sessions/" + session.rawValue }
        }
        index = container.revocationsPath
        var names: Set<String> = []
        self.folders = folders.filter { names.insert($0).inserted }
    }

    func findings() -> [Finding] {
        var failures: [(folder: String, error: SystemCallError)] = []
        var checked: Set<String> = []
        for folder in folders {
            let place = Self.existingFolder(folder)
            guard checked.insert(place).inserted else { continue }
            do throws(SystemCallError) {
                try Self.tryToSave(in: place, isOwn: place == folder)
            } catch {
                failures.append((place, error))
            }
        }
        do throws(SystemCallError) {
            if try SystemCall.targetStatus(index) != nil { try SystemCall.checkWritable(index) }
        } catch {
            failures.append((index, error))
        }
        return Set(failures.map(\.error.errno)).sorted().flatMap { code in
            self.findings(failures.filter { $0.error.errno == code }, code)
        }
    }

    private static func existingFolder(_ path: String) -> String {
        var folder = path
        do throws(SystemCallError) {
            while !folder.isEmpty, try SystemCall.targetStatus(folder) == nil { folder = folder.parentDirectory }
        } catch {
            // The folder exists, and saving in it fails for the same reason.
        }
        return folder.isEmpty ? "/" : folder
    }

    /// - Parameter isOwn: Whether the folder belongs to the container, so that a temporary file may be created in it.
    private static func tryToSave(in folder: String, isOwn: Bool) throws(SystemCallError) {
        guard isOwn else { return try SystemCall.checkWritable(folder) }
        // Another check reports a folder that belongs to another user, or a link of another user.
        guard let status = try SystemCall.targetStatus(folder), status.kind == .directory,
            status.owner == SystemCall.effectiveUser, (try? TrustedLinks.resolve(folder)) != nil
        else { return }
        // If this process dies, the next change removes the file.
        let digits = String(UInt64.random(in: 0 ... .max), radix: 16)
        let name = ".Account.plist." + String(repeating: "0", count: 16 - digits.count) + digits + ".tmp"
        let file = try FileDescriptor.create(folder + "/" + name)
        do throws(SystemCallError) {
            try file.reserve(byteCount)
            _ = try FileLock(file.path).tryTake()
        } catch {
            try SystemCall.remove(file.path)
            throw error
        }
        try SystemCall.remove(file.path)
    }

    private func findings(_ failures: [(folder: String, error: SystemCallError)], _ code: Int32) -> [Finding] {
        let folders = failures.map(\.folder)
        let places = folders.joined(separator: ", ")
        let first = folders[0].shellWord
        switch code {
        case _ where failures.contains(where: \.error.isUnsupportedLock):
            return [
                Finding(
                    problem: "the file system of \(places) supports no locks (\(SystemCallError.text(code)))",
                    advice: ": set \(homeVariable) to a folder on a local disk")
            ]
        case EROFS:
            return [
                Finding(
                    problem: "files cannot be saved in \(places): the file system is read-only",
                    advice: ": run `sudo mount -o remount,rw \"$(findmnt -n -o TARGET --target \(first))\"`")
            ]
        case ENOSPC, EDQUOT:
            return [
                Finding(
                    problem: "there is no space to save files in \(places)",
                    advice: ": free some space; `df -h \(first)` shows how much is left")
            ]
        default:
            return failures.map { folder, error in
                // If the folder cannot be inspected, `ls -ld` shows the reason.
                let isOwn = (try? SystemCall.targetStatus(folder))??.owner == SystemCall.effectiveUser
                let word = folder.shellWord
                return Finding(
                    problem: "files cannot be saved in \(folder): \(SystemCallError.text(error.errno))",
                    advice: error.errno == EACCES && isOwn
                        ? ": run `chmod u+rwx \(word)`" : ": `ls -ld \(word)` shows which users may write there")
            }
        }
    }
}
