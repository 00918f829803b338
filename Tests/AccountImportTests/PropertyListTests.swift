import AccountImport
import AccountKit
import Foundation
import Testing

@Suite("Plain property lists")
struct PropertyListTests {
    @Test(
        "Imports fields with the names of OAuth and OpenID Connect",
        arguments: [PropertyListSerialization.PropertyListFormat.binary, .xml])
    func takesOAuthNames(format: PropertyListSerialization.PropertyListFormat) throws {
        let fields: [String: Any] = [
            "access_token": Legacy.canary, "refresh_token": "refresh-canary-1", "id_token": "id-canary-22",
            "token_type": "bearer", "scope": "openid profile", "client_id": "gists", "expires_at": 1_700_003_600,
            "issued_at": Date(timeIntervalSince1970: 1_699_999_000), "sub": "248289761001", "id": 5,
            "iss": "https://id.example.com", "preferred_username": "wang", "email": "wang@example.com",
            "email_verified": true, "picture": "https://example.com/8.png", "given_name": "Wang", "level": 3,
        ]
        let imported = try Legacy.read(try Legacy.propertyList(fields, format: format))
        #expect(imported.format == (format == .xml ? .xmlPropertyList : .binaryPropertyList))
        #expect(imported.warnings.isEmpty)
        let credentials = Credentials(
            accessToken: Secret(Legacy.canary), refreshToken: Secret("refresh-canary-1"),
            idToken: Secret("id-canary-22"), tokenType: "bearer", scopes: ["openid", "profile"], clientID: "gists",
            issuedAt: Date(timeIntervalSince1970: 1_699_999_000), expiresAt: Date(timeIntervalSince1970: 1_700_003_600))
        let profile: UserProfile = [
            "email": "wang@example.com", "email_verified": true, "picture": "https://example.com/8.png",
            "given_name": "Wang", "level": 3, "id": 5,
        ]
        #expect(
            imported.account
                == Account(
                    id: "248289761001", issuer: "https://id.example.com", username: "wang", credentials: credentials,
                    profile: profile))
    }

    @Test(
        "Ignores case, underscores and hyphens in imported field names",
        arguments: ["accessToken", "access-token", "ACCESS_TOKEN"])
    func foldsKeys(key: String) throws {
        let data = try Legacy.propertyList([key: Legacy.canary, "userId": 8, "login": "wang"])
        let account = try Legacy.read(data).account
        #expect(account.credentials.accessToken == Secret(Legacy.canary))
        #expect(account.id == "8")
        #expect(account.username == "wang")
    }

    @Test("Imports fields with the names of the old account class")
    func takesLegacyNames() throws {
        let account = try Legacy.read(try Legacy.propertyList(Legacy.allFields, format: .xml)).account
        #expect(account == (try Legacy.read(try Legacy.archive(Legacy.allFields)).account))
    }

    @Test(
        "Imports an expiry from seconds, a date or text",
        arguments: ["1700003600", "2023-11-14T23:13:20Z", "2023-11-14T23:13:20.000Z", "2023-11-15 07:13:20+0800"])
    func takesExpiries(text: String) throws {
        let expected = Date(timeIntervalSince1970: 1_700_003_600)
        for value in [text, 1_700_003_600, 1_700_003_600.0, expected] as [Any] {
            let data = try Legacy.propertyList(Legacy.needed(and: ["expires_at": value]))
            #expect(try Legacy.read(data).account.credentials.expiresAt == expected)
        }
    }

    @Test("Warns about an invalid expiry and imports the expiry as unknown")
    func warnsOfExpiries() throws {
        for value in ["soon", -5, 1_700_003_600_000, true, [1]] as [Any] {
            let imported = try Legacy.read(try Legacy.propertyList(Legacy.needed(and: ["expires_at": value])))
            #expect(imported.account.credentials.expiresAt == nil)
            #expect(imported.warnings.count == 1)
            #expect(imported.warnings.first?.hasPrefix("`expires_at` was left out") == true)
        }
        let imported = try Legacy.read(try Legacy.propertyList(Legacy.needed(and: ["expires_in": 3600])))
        #expect(imported.account.credentials.expiresAt == nil)
        #expect(imported.account.profile == UserProfile())
        #expect(imported.warnings.first?.contains("the expiry is unknown") == true)
    }

    @Test("Omits imported fields of a wrong type with a warning")
    func warnsOfWrongKinds() throws {
        let fields: [String: Any] = [
            "refresh_token": 5, "id_token": "two words", "token_type": "a b", "username": ["wang"], "email": true,
            "email_verified": "perhaps", "points": "many", "groups": [[1]], "iss": "javascript:alert(1)",
            "registerTime": [1], "nickname": "kept",
        ]
        let imported = try Legacy.read(try Legacy.propertyList(Legacy.needed(and: fields)))
        #expect(imported.account.profile == ["nickname": "kept"])
        #expect(imported.account.credentials.refreshToken == nil)
        #expect(imported.account.credentials.idToken == nil)
        #expect(imported.account.credentials.tokenType == "Bearer")
        #expect(imported.account.username == nil)
        #expect(imported.account.issuer == nil)
        #expect(imported.warnings.count == fields.count - 1)
    }

    @Test("Omits imported numbers and dates that cannot be represented")
    func warnsOfOddValues() throws {
        let fields: [String: Any] = [
            "a": Double.nan, "b": Double.infinity, "c": Date(timeIntervalSince1970: 1e15), "d": UInt64.max,
        ]
        let imported = try Legacy.read(try Legacy.propertyList(Legacy.needed(and: fields)))
        #expect(imported.account.profile == UserProfile())
        #expect(imported.warnings.count == 4)
    }

    @Test("Omits an imported duplicate field with a warning")
    func warnsOfDuplicates() throws {
        let fields: [String: Any] = ["picture": "https://example.com/1.png", "avatarUrl": "https://example.com/2.png"]
        let imported = try Legacy.read(try Legacy.propertyList(Legacy.needed(and: fields)))
        #expect(imported.account.profile.picture == "https://example.com/1.png")
        #expect(imported.account.profile["avatarUrl"] == "https://example.com/2.png")

        let twice = try Legacy.propertyList(Legacy.needed(and: ["registerTime": "x", "register_time_text": "y"]))
        #expect(try Legacy.read(twice).account.profile == ["register_time_text": "x"])
        #expect(try Legacy.read(twice).warnings.count == 1)
    }

    @Test(
        "Names the field of a missing, empty or invalid token",
        arguments: [PropertyListSerialization.PropertyListFormat.binary, .xml])
    func namesTheToken(format: PropertyListSerialization.PropertyListFormat) throws {
        let missing = Legacy.refusal(of: try Legacy.propertyList(["id": 8], format: format))
        #expect(missing?.code == .invalidArgument)
        #expect(missing?.message.contains("`token`") == true)
        for value in ["", 5, true, ["x"], Data([1])] as [Any] {
            let data = try Legacy.propertyList(["id": 8, "access_token": value], format: format)
            let error = Legacy.refusal(of: data)
            #expect(error?.code == .invalidArgument)
            #expect(error?.description.contains("`access_token`") == true)
        }
    }

    @Test(
        "Refuses an imported token that is invalid in a header",
        arguments: ["a b", "a\r\nX-Evil: 1", "tökén", "a\u{0}b"])
    func refusesUnsendableTokens(token: String) throws {
        let error = Legacy.refusal(of: try Legacy.propertyList(["id": 8, "token": token]))
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains("characters that are not valid in a token") == true)
    }

    @Test("Names the field of a missing, empty or invalid user id")
    func namesTheID() throws {
        let missing = Legacy.refusal(of: try Legacy.propertyList(["token": Legacy.canary]))
        #expect(missing?.code == .invalidArgument)
        #expect(missing?.message.contains("`id`") == true)
        for value in ["", 5.5, true, ["x"], Date(), Data([1])] as [Any] {
            let error = Legacy.refusal(of: try Legacy.propertyList(["token": Legacy.canary, "user_id": value]))
            #expect(error?.code == .invalidArgument)
            #expect(error?.description.contains("`user_id`") == true)
        }
    }
}
