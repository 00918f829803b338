import AccountKit
import Foundation
import SampleAccount

/// An account as older iOS apps saved it: an object with `NSCoding`, and the tokens as text.
final class ArchivedAccount: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }

    private static let texts = [
        "id", "username", "accessToken", "refreshToken", "idToken", "tokenType", "clientID", "name", "email",
    ]
    private static let dates = ["issuedAt", "expiresAt", "verifiedAt", "registeredAt"]

    private let strings: [String: String]
    private let moments: [String: Date]
    private let scopes: [String]
    private let isEmailVerified: Bool
    let points: Int

    var username: String? { strings["username"] }

    init(_ account: Account) {
        let credentials = account.credentials
        let strings = [
            "id": account.id, "username": account.username, "accessToken": credentials.accessToken.reveal(),
            "refreshToken": credentials.refreshToken?.reveal(), "idToken": credentials.idToken?.reveal(),
            "tokenType": credentials.tokenType, "clientID": credentials.clientID, "name": account.profile.name,
            "email": account.profile.email,
        ]
        self.strings = strings.compactMapValues { $0 }
        moments = [
            "issuedAt": credentials.issuedAt, "expiresAt": credentials.expiresAt, "verifiedAt": account.verifiedAt,
            "registeredAt": account.profile.registeredAt,
        ].compactMapValues { $0 }
        scopes = credentials.scopes
        isEmailVerified = account.profile.isEmailVerified ?? false
        points = Int(account.profile.points)
    }

    init?(coder: NSCoder) {
        let texts = Self.texts.compactMap { name in
            (coder.decodeObject(of: NSString.self, forKey: name) as String?).map { (name, $0) }
        }
        let dates = Self.dates.compactMap { name in
            (coder.decodeObject(of: NSDate.self, forKey: name) as Date?).map { (name, $0) }
        }
        strings = Dictionary(uniqueKeysWithValues: texts)
        moments = Dictionary(uniqueKeysWithValues: dates)
        let scopes = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "scopes")
        self.scopes = scopes as? [String] ?? []
        isEmailVerified = coder.decodeBool(forKey: "isEmailVerified")
        points = coder.decodeInteger(forKey: "points")
    }

    func encode(with coder: NSCoder) {
        for (name, text) in strings { coder.encode(text as NSString, forKey: name) }
        for (name, date) in moments { coder.encode(date as NSDate, forKey: name) }
        coder.encode(scopes.map { $0 as NSString } as NSArray, forKey: "scopes")
        coder.encode(isEmailVerified, forKey: "isEmailVerified")
        coder.encode(points, forKey: "points")
    }

    static func archived(_ account: Account) throws -> Data {
        try NSKeyedArchiver.archivedData(withRootObject: ArchivedAccount(account), requiringSecureCoding: true)
    }
}
