/// The classes of Foundation whose content a property list can hold.
enum FoundationClass {
    case null
    case string
    case data
    case date
    case uuid
    case url
    case list
    case dictionary

    /// The first of the names that is one of Foundation's; `nil` if none is. A mutable class names its super class too.
    init?(anyOf names: [String]) {
        for name in names {
            if let known = Self.byName[name] {
                self = known
                return
            }
        }
        return nil
    }

    private static let byName: [String: FoundationClass] = [
        "NSNull": .null, "NSString": .string, "NSData": .data, "NSDate": .date, "NSUUID": .uuid, "NSURL": .url,
        "NSArray": .list, "NSSet": .list, "NSDictionary": .dictionary,
    ]

    /// The key that the content is archived under.
    var contentKey: String {
        switch self {
        case .null: ""
        case .string: "NS.string"
        case .data: "NS.data"
        case .date: "NS.time"
        case .uuid: "NS.uuidbytes"
        case .url: "NS.relative"
        case .list, .dictionary: "NS.objects"
        }
    }
}
