import AccountImport
import AccountKit
import Foundation
import Testing

@Suite("Archives in the format of iOS, made by another program")
struct ArchiveOfApplesMakeTests {
    @Test(
        "Imports every field of iOS archives that another program made",
        arguments: [
            ("JFAccountModel.plist", ImportedAccount.Format.binaryKeyedArchive),
            ("JFAccountModel.xml.plist", .xmlKeyedArchive),
        ])
    func takesEveryField(name: String, format: ImportedAccount.Format) throws {
        let imported = try Legacy.read(try Legacy.fixture(name))
        #expect(imported.format == format)
        #expect(imported.warnings.isEmpty)
        let account = imported.account
        #expect(account.id == "8")
        #expect(account.username == "wang")
        #expect(account.credentials.accessToken == Secret(Legacy.canary))
        var profile = UserProfile()
        profile.nickname = "老王 👋"
        profile.registeredAt = Date(timeIntervalSince1970: 1_448_266_500)
        profile.picture = "https://example.com/avatars/8.png?size=120&round=1"
        profile.groups = ["注册会员"]
        profile["points"] = 1350
        profile["signature_text"] = "<Stay hungry & foolish>"
        profile.phoneNumber = "13800138000"
        profile["qq_number"] = "10001"
        #expect(account.profile == profile)
    }
}
