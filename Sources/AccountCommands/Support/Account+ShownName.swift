import AccountKit
import AccountSupport

extension Account {
    var shownName: String { displayName.shown }
}
