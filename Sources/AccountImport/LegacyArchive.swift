public import AccountKit
import AccountCrypto

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Reads the account that an older app kept in an `NSKeyedArchiver` archive or in a plain property list.
///
/// ```swift
/// let imported = try LegacyArchive.read(contentsOf: "Account.plist", now: clock.now)
/// imported.warnings.forEach { print($0) }
/// ```
///
/// Of an archive, the object named `root` is read, or the only one, whatever its class was called. No class is looked
/// up and no object is made from the file: it is parsed as data, within fixed limits, since `NSKeyedUnarchiver` ends the
/// process on damaged input. The file itself is never changed. Tokens go from the file to guarded memory; what holds them in
/// between is wiped, and they are in no error and no warning.
public enum LegacyArchive {
    /// The largest file that is read, in bytes.
    public static let maximumByteCount = 1024 * 1024

    /// Reads the account in a file.
    ///
    /// - Parameters:
    ///   - path: A regular file of at most ``maximumByteCount`` bytes; a symbolic link to one is followed.
    ///   - now: When the tokens count as received, unless the file says so.
    /// - Throws: What ``read(_:now:)`` throws; `inaccessible` if the file is not there or cannot be read;
    ///   `invalidArgument` if it is not a regular file.
    public static func read(contentsOf path: String, now: Date) throws(AccountError) -> ImportedAccount {
        do throws(AccountError) {
            return try account(in: try SourceFile.read(path), now: now)
        } catch {
            throw error.naming(path)
        }
    }

    /// Reads the account in the bytes of a file.
    ///
    /// Capitals, `_`, `-` and `.` do not count in a key: `access_token` is `accessToken`. Of several keys for one thing,
    /// the first one below counts.
    ///
    /// | becomes | keys |
    /// | --- | --- |
    /// | access token (needed) | `access_token`, `auth_token`, `oauth_token`, `token` |
    /// | refresh token, ID token | `refresh_token`; `id_token` |
    /// | token type, scopes, client | `token_type`; `scope`, `scopes`; `client_id` |
    /// | expiry, receipt | `expires_at`, `token_expires_at`, `expiration_date`, `expiry`; `issued_at` |
    /// | `Account.id` (needed) | `sub`, `user_id`, `id`, `uid` |
    /// | `Account.issuer`, `Account.username` | `iss`, `issuer`; `username`, `preferred_username`, `login` |
    /// | nickname, registration | `nickname`; `registered_at`, `register_time` |
    /// | e-mail address | `email`; `email_verified` |
    /// | picture, groups | `picture`, `avatar_url`; `groups`, `group_name` |
    /// | telephone | `phone_number`, `phone` |
    /// | fields `points`, `signature_text`, `qq_number` | `points`; `signature_text`, `saytext`; `qq_number`, `qq` |
    ///
    /// Times are Unix seconds as a number or text, dates, `yyyy-MM-dd` or `yyyy-MM-dd HH:mm:ss` (UTC where no offset
    /// stands there). A registration time of another form is kept as it is in the field `register_time_text`.
    ///
    /// Every other key becomes a profile field of the same name, if its value is one that a property list can hold. Left
    /// out with a warning, at any depth: keys that look like a secret (such as `password`, `passcode`, `secret`, `token`,
    /// `cookie`, `api_key`), texts that contain one of the tokens, and data that is an archive itself.
    ///
    /// - Parameters:
    ///   - bytes: The whole file, at most ``maximumByteCount`` bytes.
    ///   - now: When the tokens count as received, unless the file says so.
    /// - Throws: `damaged` if the bytes break off or contradict themselves; `unsupportedVersion` for a later version of
    ///   a format; `invalidArgument` if it is another kind of file, or one without a token or user id. A field that is not
    ///   needed and of the wrong kind, or a text that cannot be decoded, is *not* an error but a warning.
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
            throw .unusable("It holds \(root.kind), not a dictionary of account fields.")
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
