#if Offline
import AccountSupport
public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A page of a list.
public struct RemotePage: Sendable, Hashable {
    /// The items in the order of the service.
    public var items: [RemoteItem]

    /// The cursor of the next page, or `nil` for the last page.
    public var next: String?

    /// The number of items that are not in ``items``, because their IDs cannot be read. Without an ID, AccountKit can
    /// neither store nor recognize an item.
    public var unreadableCount: Int

    /// Creates a page.
    public init(items: [RemoteItem], next: String?, unreadableCount: Int = 0) {
        self.items = items
        self.next = next
        self.unreadableCount = unreadableCount
    }

    /// Creates a page from the elements of a JSON array. Each item keeps the JSON of the service.
    ///
    /// This initializer reads only the ID of each item, so that an item of an unexpected form does not hide the others. For the
    /// same reason, it accepts any number of levels, replaces bytes that are not UTF-8 by U+FFFD, and escapes control characters
    /// in strings.
    ///
    /// - Parameters:
    ///   - body: The body of the response: an array, or an object with an array.
    ///   - member: The member of the object that contains the array, or `nil` if the body is the array.
    ///   - id: The member of an item that contains its ID, which is a string or a number.
    ///   - next: The cursor of the next page, or `nil` for the last page.
    /// - Throws: An error if the body contains no such array, such as the web page of a captive portal.
    public init(elementsOf body: Data, at member: String? = nil, id: String = "id", next: String?) throws {
        let text = Array(body)[...].withoutByteOrderMark
        var list =
            JSONText(text, depthLimit: .max)
            ?? JSONText(JSONText.repairingStrings(of: Array(text))[...], depthLimit: .max)
        if let member { list = list?[member] }
        guard let list, list.isArray else { throw NotAPage() }
        self.init(items: [], next: next)
        for element in list.elements {
            if let value = element[id], let id = value.string ?? value.number {
                items.append(RemoteItem(id: id, valid: Data(element.bytes)))
            } else {
                unreadableCount += 1
            }
        }
    }

    /// Returns the target of the link to the next page (`rel="next"` in a `Link` field; RFC 8288), as the service sent
    /// it. The target may be relative to the URL of the request. Returns `nil` if there is no such link.
    public static func nextLink(in head: HTTPResponse) -> String? {
        WebLink.links(in: head.headerFields[values: .link]).first { $0.relations.contains("next") }?.target
    }

    /// Returns the query of ``nextLink(in:)``, for services whose pages differ only in the query of the URL.
    public static func nextQuery(in head: HTTPResponse) -> String? {
        guard let target = nextLink(in: head)?.prefix(while: { $0 != "#" }), let mark = target.firstIndex(of: "?")
        else {
            return nil
        }
        return String(target[target.index(after: mark)...])
    }

    private struct NotAPage: Error, CustomStringConvertible {
        let description = "the response is not a list; a captive portal?"
    }
}

extension JSONText {
    fileprivate var number: String? { isNumber ? String(decoding: bytes, as: UTF8.self) : nil }
}

extension HTTPField.Name {
    fileprivate static let link = Self("Link")!
}
#endif
