import AccountKit
import AccountCrypto
import AccountSupport

/// Writes a file atomically to a path that the user chooses.
enum ExportedFile {
    static func write(
        to destination: String, _ body: (borrowing FileDescriptor) throws -> Void
    ) throws(AccountError) {
        let folder = destination.contains("/") ? destination.parentDirectory + "/" : ""
        let temporary = "\(folder).\(destination.lastComponent).\(Sodium.randomBytes(count: 8).hexadecimal).tmp"
        do {
            // Do not replace a folder or a device.
            if let status = try SystemCall.status(destination), status.kind != .regular {
                throw AccountError(
                    .inaccessible, "\(destination) exists and is not a file", hint: "choose another name")
            }
            let output = try FileDescriptor.create(temporary)
            do {
                try output.setPermissions(0o600)
                try body(output)
                try output.synchronize()
                try SystemCall.rename(temporary, to: destination)
                try SystemCall.synchronizeDirectory(folder.isEmpty ? "." : folder)
            } catch {
                // Report the reason for the incomplete file and not the failure to remove it.
                _ = try? SystemCall.remove(temporary)
                throw error
            }
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(.inaccessible, "\(destination) could not be written", cause: error)
        }
    }
}

extension String {
    func openFile(followingLinks: Bool) throws(AccountError) -> FileDescriptor {
        do {
            let file = try FileDescriptor.openForReading(self, followingLinks: followingLinks)
            guard try file.status().kind == .regular else { throw AccountError(.inaccessible, "\(self) is not a file") }
            return file
        } catch let error as AccountError {
            throw error
        } catch {
            throw AccountError(.inaccessible, "\(self) cannot be read", cause: error)
        }
    }
}
