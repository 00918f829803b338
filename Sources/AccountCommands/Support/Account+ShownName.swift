import AccountKit
import AccountSupport

extension Account {
    var shownName: String { displayName.shown }

    /// The user of a session, as the end of "signed in …". A session whose service names no user is named after the API.
    var signedInText: String { isNamedAfterAPI ? "to \(shownName)" : "as \(shownName)" }

    /// The user of a session, as the end of "signed out …".
    var signedOutText: String { isNamedAfterAPI ? "of \(shownName)" : shownName }
}
