import AccountKit
import AccountSupport

/// The keys of an archive, as JSON or as a table.
struct KeyDocument: Encodable {
    struct Slot: Encodable {
        var id: String
        var kind: String
        var created: Date
        var opensNow: Bool
    }

    var session: String
    var slots: [Slot]
    var sources: [KeySettings.Source]

    init(_ context: CommandContext<some AccountApplication>) async throws {
        session = context.session.rawValue
        sources = try context.preferences.keySettings(of: context.session).sources
        slots = try await context.archive(of: context.session).keySlots().map {
            Slot(
                id: $0.id, kind: $0.kind.rawValue, created: $0.created,
                opensNow: $0.isAvailable)
        }
    }

    func print(asJSON: Bool) throws {
        if asJSON { return try JSONDocument.print(self) }
        let rows = slots.map { slot in
            let state =
                slot.opensNow
                ? "available"
                : slot.kind == KeyKind.passphrase.rawValue ? "asks for the passphrase" : "not available here"
            return [slot.id.prefix(8).description, slot.kind, StateText.date(slot.created), state]
        }
        if !rows.isEmpty { try Terminal.printTable(["ID", "KIND", "CREATED", "STATE"], rows) }
        for source in sources where slots.isEmpty {
            try Terminal.printLine(styled: "at the next sign-in: \(source.text)")
        }
        for source in sources where !slots.isEmpty && !slots.contains(where: { $0.kind == source.kind.rawValue }) {
            try Terminal.printLine(styled: "only for the next archive: \(source.text)")
        }
    }
}
