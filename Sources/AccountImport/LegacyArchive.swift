public import AccountKit
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Reads an account that an older app saved in an `NSKeyedArchiver` archive or in a plain property list.
///
/// ```swift
/// let imported = try LegacyArchive.read(contentsOf: "Account.plist", now: clock.now)
/// imported.warnings.forEach { print($0) }
/// ```
///
/// In a keyed archive, AccountKit reads the object named `root`, or the only object. The object may be of any class.
/// AccountKit parses the file as data, within fixed limits. It does not use `NSKeyedUnarchiver`, which ends the process
/// on damaged input, so it looks up no classes and creates no objects. AccountKit does not change the file. It moves
/// tokens to guarded memory and wipes the intermediate buffers. No error or warning contains a token.
public enum LegacyArchive {
    /// The maximum size of a file, in bytes.
    public static let maximumByteCount = 1024 * 1024

    /// Reads the account in a file.
    ///
    /// - Parameters:
    ///   - path: A regular file of at most ``maximumByteCount`` bytes, or a symbolic link to such a file.
    ///   - now: The time at which the app received the tokens, used if the file contains no such time.
    /// - Throws: The errors of ``read(_:now:)``; `inaccessible` if the file is missing or cannot be read;
    ///   `invalidArgument` if the path does not lead to a regular file.
    public static func read(contentsOf path: String, now: Date) throws(AccountError) -> ImportedAccount {
        do throws(AccountError) {
            return try account(in: try SourceFile.read(path), now: now)
        } catch {
            throw error.naming(path)
        }
    }

    /// Reads the account in the bytes of a file.
    ///
    /// AccountKit ignores case, `_`, `-` and `.` in a key, so `access_token` equals `accessToken`. If several keys have
    /// the same meaning, AccountKit uses the first key in this table.
    ///
    /// | field | keys |
    /// | --- | --- |
    /// | access token (required) | `access_token`, `auth_token`, `oauth_token`, `token` |
    /// | refresh token, ID token | `refresh_token`; `id_token` |
    /// | token type, scopes, client | `token_type`; `scope`, `scopes`; `client_id` |
    /// | expiry, receipt | `expires_at`, `token_expires_at`, `expiration_date`, `expiry`; `issued_at` |
    /// | `Account.id` (required) | `sub`, `user_id`, `id`, `uid` |
    /// | `Account.issuer`, `Account.username` | `iss`, `issuer`; `username`, `preferred_username`, `login` |
    /// | nickname, registration | `nickname`; `registered_at`, `register_time` |
    /// | e-mail address | `email`; `email_verified` |
    /// | picture, groups | `picture`, `avatar_url`; `groups`, `group_name` |
    /// | telephone | `phone_number`, `phone` |
    /// | fields `points`, `signature_text`, `qq_number` | `points`; `signature_text`, `saytext`; `qq_number`, `qq` |
    ///
    /// A time is a number of seconds since 1970 (as a number or text), a date, or a text in the format `yyyy-MM-dd` or
    /// `yyyy-MM-dd HH:mm:ss` (in UTC if there is no offset). If a registration time has another format, AccountKit
    /// keeps the text in the field `register_time_text`.
    ///
    /// Every other key becomes a profile field of the same name, if a property list can represent its value. At any
    /// depth, AccountKit omits the following values and adds a warning: values whose key looks like a secret (such as
    /// `password`, `passcode`, `secret`, `token`, `cookie`, `api_key`), strings that contain one of the tokens, and
    /// data that is itself an archive.
    ///
    /// - Parameters:
    ///   - bytes: The whole file, at most ``maximumByteCount`` bytes.
    ///   - now: The time at which the app received the tokens, used if the file contains no such time.
    /// - Throws: `damaged` if the bytes are truncated or contradictory; `unsupportedVersion` for a later version of a
    ///   format; `invalidArgument` if the file is of another kind, or contains no token or user ID. An optional field
    ///   of the wrong kind, or a string that cannot be decoded, is *not* an error but a warning.
    public static func read(_ bytes: some Collection<UInt8>, now: Date) throws(AccountError) -> ImportedAccount {
        do throws(AccountError) {
            guard bytes.count <= maximumByteCount else { throw .tooLarge }
            return try account(in: WipedBytes(bytes), now: now)
        } catch {
            throw error.naming("The file")
        }
    }

    private static func account(in bytes: WipedBytes, now: Date) throws(AccountError) -> ImportedAccount {
        let isXML = !bytes.starts(with: "bplist".utf8)
        let root =
            isXML
            ? try XMLReader.read(bytes)
            : try bytes.withUnsafeBytes { bytes throws(AccountError) in try BinaryReader.read(bytes) }
        guard case .dictionary(let dictionary) = root else {
            throw .unusable("It contains \(root.kind), not a dictionary of account fields.")
        }
        let isArchive = KeyedArchive.describes(dictionary)
        let fields = isArchive ? try KeyedArchive.rootFields(of: dictionary) : dictionary
        var mapper = AccountMapper(fields: fields)
        let account = try mapper.account(now: now)
        let format: ImportedAccount.Format =
            switch (isArchive, isXML) {
            case (true, true): .xmlKeyedArchive
            case (true, false): .binaryKeyedArchive
            case (false, true): .xmlPropertyList
            case (false, false): .binaryPropertyList
            }
        return ImportedAccount(account: account, format: format, warnings: mapper.warnings.list)
    }
}
