#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The fields of a stored record. A missing field is `nil`; a field of another type is an error.
extension [String: ProfileValue] {
    func text(_ name: String) throws(RecordPropertyList.Malformed) -> String? {
        try entry(name) { if case .string(let text) = $0 { text } else { nil } }
    }

    func date(_ name: String) throws(RecordPropertyList.Malformed) -> Date? {
        try entry(name) { if case .date(let date) = $0 { date } else { nil } }
    }

    func flag(_ name: String) throws(RecordPropertyList.Malformed) -> Bool {
        try entry(name) { if case .boolean(let flag) = $0 { flag } else { nil } } ?? false
    }

    func texts(_ name: String) throws(RecordPropertyList.Malformed) -> [String]? {
        try entry(name) { value in
            guard case .array(let values) = value else { return nil }
            let texts = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
            return texts.count == values.count ? texts : nil
        }
    }

    func dictionary(_ name: String) throws(RecordPropertyList.Malformed) -> [String: ProfileValue]? {
        try entry(name) { if case .dictionary(let fields) = $0 { fields } else { nil } }
    }

    private func entry<Entry>(
        _ name: String, _ value: (ProfileValue) -> Entry?
    ) throws(RecordPropertyList.Malformed) -> Entry? {
        guard let entry = self[name] else { return nil }
        guard let value = value(entry) else { throw RecordPropertyList.unusable }
        return value
    }
}
