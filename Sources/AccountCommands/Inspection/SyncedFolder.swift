import AccountKit

/// Recognizes folders that a program copies to other machines.
enum SyncedFolder {
    private static let markers = [
        ".stfolder": "Syncthing", ".dropbox": "Dropbox", ".dropbox.cache": "Dropbox", ".owncloudsync.log": "ownCloud",
        ".nextcloudsync.log": "Nextcloud", ".sync": "Resilio Sync", ".unison": "Unison", ".git": "git",
    ]

    private static let names = [
        "Dropbox": "Dropbox", "OneDrive": "OneDrive", "Google Drive": "Google Drive", "GoogleDrive": "Google Drive",
        "Nextcloud": "Nextcloud", "ownCloud": "ownCloud", "Mobile Documents": "iCloud Drive", "MEGA": "MEGA",
        "pCloudDrive": "pCloud",
    ]

    static func around(_ path: String) throws -> (program: String, folder: String)? {
        var folder = path[...]
        while let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
            folder = folder[..<slash]
            let name = folder[folder.index(after: folder.lastIndex(of: "/")!)...]
            if let program = names[String(name)] { return (program, String(folder)) }
            for (marker, program) in markers.sorted(by: { $0.key < $1.key })
            where try SystemCall.status(folder + "/" + marker) != nil {
                return (program, String(folder))
            }
        }
        return nil
    }
}
