import AccountImport
import AccountKit
import Foundation
import Testing

/// An account class of an older app, which `NSKeyedArchiver` itself archives.
final class LegacyModel: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true

    private let fields: [String: Any]

    init(_ fields: [String: Any]) {
        self.fields = fields
    }

    init?(coder: NSCoder) {
        nil
    }

    /// Whole numbers are stored inline, like `encodeInteger:forKey:`; everything else is an object.
    func encode(with coder: NSCoder) {
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            if let value = value as? Int {
                coder.encode(value, forKey: name)
            } else {
                coder.encode(value, forKey: name)
            }
        }
    }
}

/// Files in the formats of older apps.
enum Legacy {
    static let canary = "canary-5d41402abc4b2a76b9719d911017c592"
    static let now = Date(timeIntervalSince1970: 1_700_000_000)

    /// All fields of the old account class.
    static var allFields: [String: Any] {
        [
            "token": canary, "id": 8, "username": "wang", "nickname": "老王 👋", "registerTime": "1448266500",
            "email": "wang@example.com", "avatarUrl": "https://example.com/8.png", "groupName": "members",
            "points": 1350, "saytext": "Stay hungry", "phone": "13800138000", "qq": "10001",
        ]
    }

    /// The required fields of an account, and `others`.
    static func needed(and others: [String: Any] = [:]) -> [String: Any] {
        others.merging(["token": canary, "id": 8]) { other, _ in other }
    }

    /// An archive by `NSKeyedArchiver`, with the fields in an object of the class `className`.
    static func archive(
        _ fields: [String: Any], className: String = "JFAccountModel", key: String = "root",
        format: PropertyListSerialization.PropertyListFormat = .binary, secure: Bool = true
    ) throws -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: secure)
        archiver.outputFormat = format
        archiver.setClassName(className, for: LegacyModel.self)
        archiver.encode(LegacyModel(fields), forKey: key)
        archiver.finishEncoding()
        return try renamingClass(in: archiver.encodedData, to: className, format: format)
    }

    /// Renames the account's class, which `setClassName` does not do in swift-corelibs-foundation (Swift 6.3).
    private static func renamingClass(
        in data: Data, to className: String, format: PropertyListSerialization.PropertyListFormat
    ) throws -> Data {
        let list = try PropertyListSerialization.propertyList(from: data, format: nil)
        guard var archive = list as? [String: Any], var objects = archive["$objects"] as? [Any] else { return data }
        for index in objects.indices {
            guard var description = objects[index] as? [String: Any],
                description["$classname"] as? String == NSStringFromClass(LegacyModel.self)
            else { continue }
            description["$classname"] = className
            description["$classes"] = [className, "NSObject"]
            objects[index] = description
        }
        archive["$objects"] = objects
        return try propertyList(archive, format: format)
    }

    /// An archive by `NSKeyedArchiver` of any other objects.
    static func archive(of roots: [String: Any]) -> Data {
        let archiver = NSKeyedArchiver(requiringSecureCoding: false)
        for (key, root) in roots { archiver.encode(root, forKey: key) }
        archiver.finishEncoding()
        return archiver.encodedData
    }

    /// A plain property list by `PropertyListSerialization`.
    static func propertyList(
        _ value: Any, format: PropertyListSerialization.PropertyListFormat = .binary
    ) throws -> Data {
        try PropertyListSerialization.data(fromPropertyList: value, format: format, options: 0)
    }

    /// An XML property list around `body`.
    static func xml(_ body: String) -> Data {
        Data("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\">\(body)</plist>\n".utf8)
    }

    /// An XML keyed archive around the elements of `$objects`.
    static func xmlArchive(objects: String, top: String = "<key>root</key>\(uid(1))", version: Int = 100_000) -> Data {
        xml(
            """
            <dict><key>$version</key><integer>\(version)</integer><key>$archiver</key><string>NSKeyedArchiver</string>
            <key>$top</key><dict>\(top)</dict>
            <key>$objects</key><array><string>$null</string>\(objects)</array></dict>
            """)
    }

    static func uid(_ index: Int) -> String {
        "<dict><key>CF$UID</key><integer>\(index)</integer></dict>"
    }

    /// A class description for `$objects`.
    static func classObject(_ name: String) -> String {
        """
        <dict><key>$classname</key><string>\(name)</string>
        <key>$classes</key><array><string>\(name)</string><string>NSObject</string></array></dict>
        """
    }

    static func read(_ data: Data) throws(AccountError) -> ImportedAccount {
        try LegacyArchive.read(data, now: now)
    }

    /// The error that refuses `data`. If there is none, the test fails and the result is `nil`.
    static func refusal(of data: Data, sourceLocation: SourceLocation = #_sourceLocation) -> AccountError? {
        #expect(throws: AccountError.self, sourceLocation: sourceLocation) { try read(data) }
    }

    /// A file from the `Fixtures` folder beside this one.
    static func fixture(_ name: String, file: String = #filePath) throws -> Data {
        let folder = URL(fileURLWithPath: file).deletingLastPathComponent()
        return try Data(contentsOf: folder.appendingPathComponent("Fixtures").appendingPathComponent(name))
    }
}
