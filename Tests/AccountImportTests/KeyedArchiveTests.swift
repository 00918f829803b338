import AccountImport
import AccountKit
import Foundation
import Testing

@Suite("Archives by NSKeyedArchiver")
struct KeyedArchiveTests {
    @Test(
        "Imports every field for any class name and archive format",
        arguments: ["JFAccountModel", "_TtC5MyApp14JFAccountModel", "MyApp.JFAccountModel", "NSObject"],
        [PropertyListSerialization.PropertyListFormat.binary, .xml])
    func takesEveryField(className: String, format: PropertyListSerialization.PropertyListFormat) throws {
        for secure in [true, false] {
            let data = try Legacy.archive(Legacy.allFields, className: className, format: format, secure: secure)
            #expect(data.range(of: Data(className.utf8)) != nil)
            let imported = try Legacy.read(data)
            #expect(imported.warnings.isEmpty)
            #expect(imported.format == (format == .xml ? .xmlKeyedArchive : .binaryKeyedArchive))

            let account = imported.account
            #expect(account.id == "8")
            #expect(account.username == "wang")
            #expect(account.verifiedAt == nil)
            #expect(account.issuer == nil)
            #expect(account.credentials.accessToken == Secret(Legacy.canary))
            #expect(account.credentials.refreshToken == nil)
            #expect(account.credentials.tokenType == "Bearer")
            #expect(account.credentials.issuedAt == Legacy.now)
            #expect(account.credentials.expiresAt == nil)
            var profile = UserProfile()
            profile.nickname = "老王 👋"
            profile.registeredAt = Date(timeIntervalSince1970: 1_448_266_500)
            profile.email = "wang@example.com"
            profile.picture = "https://example.com/8.png"
            profile.groups = ["members"]
            profile["points"] = 1350
            profile["signature_text"] = "Stay hungry"
            profile.phoneNumber = "13800138000"
            profile["qq_number"] = "10001"
            #expect(account.profile == profile)
        }
    }

    @Test("Imports the only object of an archive as the account, under any key")
    func takesTheOnlyObject() throws {
        #expect(try Legacy.read(Legacy.archive(Legacy.needed(), key: "accountModel")).account.id == "8")
    }

    @Test("Imports the object named root if the archive has several objects")
    func takesTheRoot() throws {
        let data = Legacy.archive(of: ["other": "text", "root": LegacyModel(Legacy.needed())])
        #expect(try Legacy.read(data).account.id == "8")
    }

    @Test("Refuses several objects without a root and names the fix")
    func refusesSeveralObjects() throws {
        let error = try #require(throws: AccountError.self) {
            try Legacy.read(Legacy.archive(of: ["first": "text", "second": LegacyModel(Legacy.needed())]))
        }
        #expect(error.code == .invalidArgument)
        #expect(error.description.contains("archive only the account"))
    }

    @Test("Imports a dictionary with the required fields as an account")
    func takesDictionary() throws {
        let imported = try Legacy.read(Legacy.archive(of: ["root": ["token": Legacy.canary, "id": "8"]]))
        #expect(imported.account.id == "8")
        #expect(imported.format == .binaryKeyedArchive)
    }

    @Test("Refuses an account inside a list or dictionary")
    func refusesNestedAccount() throws {
        let model = LegacyModel(Legacy.needed())
        let list = try #require(throws: AccountError.self) { try Legacy.read(Legacy.archive(of: ["root": [model]])) }
        #expect(list.code == .invalidArgument)
        #expect(list.message.contains("a list, not an account"))
        let dictionary = try #require(throws: AccountError.self) {
            try Legacy.read(Legacy.archive(of: ["root": ["account": model]]))
        }
        #expect(dictionary.code == .invalidArgument)
        #expect(dictionary.message.contains("no access token"))
        let text = try #require(throws: AccountError.self) { try Legacy.read(Legacy.archive(of: ["root": "text"])) }
        #expect(text.message.contains("is a string, not an account"))
    }

    @Test("Imports numbers and text as user ids, inline or as objects")
    func takesIDs() throws {
        let ids: [(Any, String)] = [
            (8, "8"), (-8, "-8"), (Int.max, "9223372036854775807"), (NSNumber(value: 8), "8"),
            (NSNumber(value: UInt64.max), "18446744073709551615"), (NSNumber(value: 8.0), "8"), ("8", "8"),
            (NSString("用户-8"), "用户-8"), (NSMutableString(string: "abc"), "abc"),
            (UUID(uuidString: "0A0B0C0D-1111-2222-3333-00000000FFFF")!, "0A0B0C0D-1111-2222-3333-00000000FFFF"),
        ]
        for (id, expected) in ids {
            for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
                let data = try Legacy.archive(Legacy.needed(and: ["id": id]), format: format)
                #expect(try Legacy.read(data).account.id == expected)
            }
        }
    }

    @Test("Converts imported numbers and text to the type of the field")
    func takesNumbersAndTexts() throws {
        let fields: [String: Any] = ["points": "1350", "phone": 13_800_138_000, "qq": NSNumber(value: 10001)]
        let profile = try Legacy.read(try Legacy.archive(Legacy.needed(and: fields))).account.profile
        #expect(profile["points"] == 1350)
        #expect(profile.phoneNumber == "13800138000")
        #expect(profile["qq_number"] == "10001")
    }

    @Test("Imports a registration time from seconds, a date or text")
    func takesRegistrationTimes() throws {
        let date = Date(timeIntervalSince1970: 1_448_266_500)
        let times: [Any] = [
            1_448_266_500, NSNumber(value: 1_448_266_500.0), "1448266500", NSDate(timeIntervalSince1970: 1_448_266_500),
            "2015-11-23 08:15:00", "2015-11-23T16:15:00+08:00",
        ]
        for time in times {
            let imported = try Legacy.read(try Legacy.archive(Legacy.needed(and: ["registerTime": time])))
            let profile = imported.account.profile
            #expect(profile.registeredAt == date, "\(time)")
            #expect(profile["register_time_text"] == nil)
        }
        for (time, text) in [("last year" as Any, "last year"), (1_448_266_500_000, "1448266500000"), (-1, "-1")] {
            let imported = try Legacy.read(try Legacy.archive(Legacy.needed(and: ["registerTime": time])))
            #expect(imported.account.profile.registeredAt == nil)
            #expect(imported.account.profile["register_time_text"] == .string(text))
            #expect(imported.warnings.isEmpty)
        }
    }

    @Test("Imports unknown fields as profile fields")
    func keepsUnknownFields() throws {
        let fields: [String: Any] = [
            "level": 3, "ratio": 0.5, "born": NSDate(timeIntervalSince1970: 1), "tags": ["a", "b"],
            "settings": ["theme": "dark", "sizes": [12, 14]] as [String: Any], "blob": Data([1, 2, 3]),
            "home": NSURL(string: "https://example.com/wang")!, "$odd": "dollar", "set": NSSet(array: ["x"]),
        ]
        for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
            let imported = try Legacy.read(try Legacy.archive(Legacy.needed(and: fields), format: format))
            #expect(imported.warnings.isEmpty)
            #expect(
                imported.account.profile == [
                    "level": 3, "ratio": 0.5, "born": .date(Date(timeIntervalSince1970: 1)), "tags": ["a", "b"],
                    "settings": ["theme": "dark", "sizes": [12, 14]], "blob": .data(Data([1, 2, 3])),
                    "home": "https://example.com/wang", "$odd": "dollar", "set": ["x"],
                ])
        }
    }

    @Test("Omits an imported object that no property list can contain")
    func leavesOutObjects() throws {
        let fields: [String: Any] = [
            "friend": LegacyModel(["x": 1]), "friends": [LegacyModel(["x": 1])],
            "here": NSURL(string: "b", relativeTo: URL(string: "https://example.com/a/"))!,
        ]
        let imported = try Legacy.read(try Legacy.archive(Legacy.needed(and: fields)))
        #expect(imported.account.profile == ["friends": []])
        #expect(
            imported.warnings == [
                "`friend` was left out: it is an object of one of the old app's classes.",
                "`friends` was left out: it is an object of one of the old app's classes.",
                "`here` was left out: it is an object of one of the old app's classes.",
            ])
    }

    @Test("Treats null values, empty text and NSNull in an archive as missing")
    func readsAbsence() throws {
        let objects = """
            <dict><key>$class</key>\(Legacy.uid(2))<key>token</key>\(Legacy.uid(3))<key>id</key><integer>8</integer>
            <key>email</key>\(Legacy.uid(0))<key>nickname</key>\(Legacy.uid(4))<key>saytext</key>\(Legacy.uid(6))
            <key>other</key>\(Legacy.uid(4))</dict>
            \(Legacy.classObject("JFAccountModel"))<string>\(Legacy.canary)</string>
            <dict><key>$class</key>\(Legacy.uid(5))</dict>\(Legacy.classObject("NSNull"))<string></string>
            """
        let imported = try Legacy.read(Legacy.xmlArchive(objects: objects))
        #expect(imported.account.profile == UserProfile())
        #expect(imported.warnings.isEmpty)
    }
}
