import AccountImport
import AccountKit
import Foundation

let importTargets = [FuzzTarget(name: "import", body: { readLegacyArchive($0) })]

private func readLegacyArchive(_ bytes: [UInt8]) {
    do throws(AccountError) {
        let imported = try LegacyArchive.read(bytes, now: now)
        promise(imported.account.verifiedAt == nil, "an imported account is unverified")
        promise(!imported.account.id.isEmpty, "a user has an identifier")
        promiseRoundTrip(of: imported.account)
        let token = imported.account.credentials.accessToken.reveal()
        // A short token may occur in a warning by chance.
        if token.utf8.count >= 16 {
            promise(!imported.warnings.contains { $0.contains(token) }, "a warning does not show the token")
        }
    } catch {
        promise([.damaged, .unsupportedVersion, .invalidArgument].contains(error.code), "a reason: \(error)")
    }
}
