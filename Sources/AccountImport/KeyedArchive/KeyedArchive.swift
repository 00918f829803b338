import AccountKit
import AccountCrypto

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Resolves the references in an `NSKeyedArchiver` archive, starting at the root object. This type treats the archive
/// as data, and looks up no classes.
///
/// In the archive, `$objects` lists all objects, `$top` contains the names of the root objects, and a UID is an index
/// in `$objects`. Index 0 is the text `$null`. Each object refers to its class, which is another object, under
/// `$class`.
struct KeyedArchive {
    private let objects: [LegacyValue]
    private var remainingValues = ImportLimits.valueCount
    private var remainingBytes = ImportLimits.copiedByteCount

    private var foundationClasses: [Int: String?] = [:]

    /// The objects from the root object to the current one, to detect an object that contains itself.
    private var path: [Int] = []

    static func describes(_ dictionary: [String: LegacyValue]) -> Bool {
        ["$archiver", "$objects", "$top"].contains { dictionary[$0] != nil }
    }

    static func rootFields(of dictionary: [String: LegacyValue]) throws(AccountError) -> [String: LegacyValue] {
        guard case .array(let objects)? = dictionary["$objects"], case .dictionary(let top)? = dictionary["$top"] else {
            throw .damaged("the list of its objects, or of its root objects, is missing")
        }
        if case .integer(let version)? = dictionary["$version"], version != 100_000 {
            throw AccountError(
                .unsupportedVersion,
                "It is a keyed archive of version \(version); only version 100000 can be read.")
        }
        guard let root = top["root"] ?? (top.count == 1 ? top.first?.value : nil) else {
            throw .unusable(
                "It contains \(top.count) root objects, and none is named `root`; archive only the account.")
        }
        var archive = KeyedArchive(objects: objects)
        return try archive.fields(ofRoot: root)
    }

    private mutating func fields(ofRoot root: LegacyValue) throws(AccountError) -> [String: LegacyValue] {
        guard case .reference(let index) = root else { throw .damaged("its root object is not in the list of objects") }
        let object = try object(at: index)
        guard case .dictionary(let members) = object else {
            throw .unusable("Its root object is \(object.kind), not an account.")
        }
        if let name = try foundationClass(of: members) {
            let value = try value(of: name, members: members)
            guard case .dictionary(let fields) = value else {
                throw .unusable("Its root object is \(value.kind), not an account; archive only the account.")
            }
            return fields
        }
        var fields: [String: LegacyValue] = [:]
        for (name, value) in members {
            if let name = Self.fieldName(name) { fields[name] = try self.value(value) }
        }
        return fields
    }

    /// Returns the name of a field, or `nil` for a name of the archive format. The archiver puts a `$` before names
    /// that begin with a `$`.
    private static func fieldName(_ name: String) -> String? {
        if name.hasPrefix("$$") { return String(name.dropFirst()) }
        return name.hasPrefix("$") ? nil : name
    }

    private func object(at index: Int) throws(AccountError) -> LegacyValue {
        guard objects.indices.contains(index) else { throw .damaged("it refers to a missing object") }
        return index == 0 ? .null : objects[index]
    }

    private mutating func value(_ value: LegacyValue) throws(AccountError) -> LegacyValue {
        remainingValues -= 1
        guard remainingValues >= 0 else { throw .damaged("it contains too many values") }
        switch value {
        case .array, .dictionary: throw .damaged("a value is outside the list of objects")
        case .reference(let index): return try self.value(at: index)
        default: return value
        }
    }

    private mutating func value(at index: Int) throws(AccountError) -> LegacyValue {
        let object = try object(at: index)
        switch object {
        case .array, .reference: throw .damaged("an object has no class")
        case .dictionary(let members):
            guard let name = try foundationClass(of: members) else { return .object }
            guard !path.contains(index) else { throw .damaged("an object contains itself") }
            guard path.count < ImportLimits.depth else { throw .damaged("objects are nested too deeply") }
            path.append(index)
            defer { path.removeLast() }
            return try value(of: name, members: members)
        default:
            remainingBytes -= object.byteCount
            guard remainingBytes >= 0 else { throw .damaged("it repeats its strings too often") }
            return object
        }
    }

    /// The classes whose content a property list can represent, with the key of the content.
    private static let contentKeys = [
        "NSNull": "", "NSString": "NS.string", "NSData": "NS.data", "NSDate": "NS.time", "NSUUID": "NS.uuidbytes",
        "NSURL": "NS.relative", "NSArray": "NS.objects", "NSSet": "NS.objects", "NSDictionary": "NS.objects",
    ]

    /// Returns the first Foundation class in the list of an object's classes. This list also contains the superclass of
    /// a mutable class.
    private mutating func foundationClass(of members: [String: LegacyValue]) throws(AccountError) -> String? {
        guard case .reference(let index)? = members["$class"] else { throw .damaged("an object has no class") }
        if let known = foundationClasses[index] { return known }
        guard case .dictionary(let description) = try object(at: index),
            case .text(let name)? = description["$classname"]
        else { throw .damaged("an object has no class") }
        var texts = [name]
        if case .array(let others)? = description["$classes"] {
            guard others.count <= ImportLimits.depth else { throw .damaged("a class has too many superclasses") }
            texts += others.compactMap { if case .text(let text) = $0 { text } else { nil } }
        }
        guard texts.allSatisfy({ $0.count <= ImportLimits.keyByteCount }) else {
            throw .damaged("the name of a class is too long")
        }
        let known = texts.map { String(decoding: $0, as: UTF8.self) }.first { Self.contentKeys[$0] != nil }
        foundationClasses.updateValue(known, forKey: index)
        return known
    }

    private mutating func value(
        of foundationClass: String, members: [String: LegacyValue]
    ) throws(AccountError) -> LegacyValue {
        var content = members[Self.contentKeys[foundationClass] ?? ""]
        if let single = content {
            if case .array = single {} else { content = try value(single) }
        }
        switch (foundationClass, content) {
        case ("NSNull", _): return .null
        case ("NSString", .text?), ("NSData", .data?): return content ?? .null
        case ("NSDate", .real(let seconds)?): return .date(Date(timeIntervalSinceReferenceDate: seconds))
        case ("NSDate", .integer(let seconds)?): return .date(Date(timeIntervalSinceReferenceDate: Double(seconds)))
        case ("NSUUID", .data(let data)?): return try uuid(data)
        case ("NSURL", .text?):
            // A URL with a base URL cannot be represented as one string.
            guard let base = members["NS.base"], case .null = try value(base) else { return .object }
            return content ?? .null
        case ("NSArray", .array(let elements)?), ("NSSet", .array(let elements)?):
            return .array(try values(elements))
        case ("NSDictionary", .array(let elements)?):
            guard case .array(let keys)? = members["NS.keys"], keys.count == elements.count else {
                throw .damaged("a dictionary has more keys than values, or fewer")
            }
            return try dictionary(keys: try values(keys), values: try values(elements))
        default: return .object
        }
    }

    private mutating func values(_ elements: [LegacyValue]) throws(AccountError) -> [LegacyValue] {
        try elements.map { element throws(AccountError) in try value(element) }
    }

    private func dictionary(keys: [LegacyValue], values: [LegacyValue]) throws(AccountError) -> LegacyValue {
        var result: [String: LegacyValue] = [:]
        for (key, value) in zip(keys, values) {
            guard case .text(let text) = key else { return .object }
            guard text.count <= ImportLimits.keyByteCount else { throw .damaged("a key is too long") }
            guard result.updateValue(value, forKey: String(decoding: text, as: UTF8.self)) == nil else {
                throw .damaged("a key occurs twice")
            }
        }
        return .dictionary(result)
    }

    private func uuid(_ data: WipedBytes) throws(AccountError) -> LegacyValue {
        guard data.count == 16 else { throw .damaged("a UUID does not have 16 bytes") }
        let digits = data.map { String(UInt16($0) + 0x100, radix: 16, uppercase: true).dropFirst() }
        let groups = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }
        return .text(WipedBytes(groups.joined(separator: "-").utf8))
    }
}
