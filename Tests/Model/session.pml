/*
 * The life of a session, small enough to try everything: two programs that share one archive, the service, and a world
 * in which whatever can go wrong does. README.md says what is claimed, what is left out, and which code this is.
 *
 * The labels of `Program` are the steps of the session flows in Sources/AccountKit/Session. Each `atomic` is one step: at
 * most one change of what others can see, or one exchange with the service. Between two of them the others can do
 * anything, and the program can die. What a program does under Account.lock without anybody being able to see it, such as
 * reading, is part of the step that follows or goes before; where a lock can be lost, each write is a step (`THEN`).
 *
 * Options (-D) make one mistake each, to show that the model would notice; check.sh lists them.
 */

#ifndef FIRST
#define FIRST 2                 /* how many operations the first program has, one after the other */
#endif
#ifndef SECOND
#define SECOND 2                /* and the second */
#endif
#ifndef FAULTS
#define FAULTS 2                /* writes that fail, in all; a save is tried twice, so with fewer all would be saved */
#endif
#ifndef DEATHS
#define DEATHS 1                /* how often each program dies */
#endif
#ifndef LEAVES
#define LEAVES 1                /* whether callers leave before they have their result */
#endif
#ifndef DERIVATIONS
#define DERIVATIONS 1           /* whether tokens for other APIs are wanted */
#endif

/* With -DONLY=n no other property than n is looked at. */
#ifdef ONLY
#define require(property, condition) assert(property != ONLY || (condition))
#else
#define require(property, condition) assert(condition)
#endif

/*
 * A store that many machines share: locks are its holder's for a time only, and each write compares that they still are. Without
 * FENCED a write compares revisions alone, and a lock is lost once.
 */
#ifdef FENCED
#define LOSES_LOCKS
#endif

/* A transaction is two steps, what it reads and what it writes, and the program can die after each write. */
#ifdef LOSES_LOCKS
#define THEN(label) } label: atomic {
#else
#define THEN(label) label:
#endif

/* ---- The service: a grant has one good refresh token at a time, and ends if a spent one comes again. */

/* Grant 1 is of the user who is signed in at the start, grant 2 is what the next sign-in brings. */
#define NOBODY 0
#define GRANTS 3

mtype:ending = { LIVE, BY_ADMINISTRATOR, BY_REUSE, BY_REVOCATION };
mtype:ending ending[GRANTS] = LIVE;

byte newest[GRANTS];            /* the tokens of a grant are numbered from 0; this one is good */
bool isIssued = false;          /* whether there is grant 2 */

/* A request that is still on its way although its sender died or gave up. */
byte lateGrant = NOBODY, lateToken;

/* ---- The archive: what is on the disk, and the two locks. */

#define FREE 0
#define FORGOTTEN 9
byte lock = FREE;               /* Account.lock: its holder's `me + 1` */
byte lease = FREE;              /* Refresh.lock: likewise */
byte storedGrant = 1, storedToken = 0;
bool intent = false;            /* Refresh.plist */
byte queue[GRANTS];             /* Revocation-n.plist: bit t is for token t of the grant */
byte faults = FAULTS;

/*
 * Revisions are only ever compared with the stored one. So instead of numbers there is a bit for each one that a program
 * remembers: whether it still is the stored one.
 */
bool isRead[2];                 /* the revision that it read under the lock */

/* ---- The memory of the processes: tokens that could not be saved. */

#ifdef ONE_PROCESS
#define home 0                  /* the two programs are tasks of one process */
#else
#define home me
#endif

byte unsavedGrant[2], unsavedToken[2];
bool isUnsaved[2];              /* whether the tokens that were spent for them still are the stored ones */
bool hasLaterIntent[2];         /* they were sent since: the record is about them */

/* ---- What only the properties look at. */

byte lastSaved[GRANTS];         /* the newest token that has been on the disk */
bool excused[GRANTS];           /* new tokens were lost on their way, or could not be written: reuse may follow */
bool isLost[GRANTS];            /* this is so of the newest one, or of its entry in the queue */
byte inHand[2] = NOBODY;        /* the grant whose newest token the program has, or is about to be sent */
bool signedOut[GRANTS];         /* by the user or a new sign-in, and the disk did not fail when the revocation was queued */
bool isTold[GRANTS];            /* the service has had the revocation of one of its tokens */
byte finished = 0;

/* ---- What the service does. */

mtype:answer = { NONE, TOKENS, INVALID_GRANT };

inline redeem(grant, token, reply) {
    if
    :: ending[grant] == LIVE && token == newest[grant] ->
        newest[grant]++;
        isLost[grant] = false;
        reply = TOKENS
    :: ending[grant] == LIVE && token != newest[grant] ->
        require(2, excused[grant]);
        ending[grant] = BY_REUSE;
        reply = INVALID_GRANT
    :: ending[grant] != LIVE -> reply = INVALID_GRANT
    fi
}

/* Any token of a grant ends it; at some services a spent one does not. */
inline revoke(grant, token) {
    isTold[grant] = true;
    if
    :: ending[grant] == LIVE -> endBy(grant)
    :: ending[grant] == LIVE && token != newest[grant]
    :: ending[grant] != LIVE
    fi
}

#ifdef ONE_USER
/*
 * Both grants are the same user's, and the service ends all of them at once. A sign-in while a revocation is on its way is
 * out of luck: what was sent cannot be called back.
 */
bool isTelling[2];
#define TELL isTelling[me] = true; goto revoking
#define IS_TOLD isTelling[me] = false

inline endBy(grant) {
    ending[1] = (ending[1] == LIVE -> BY_REVOCATION : ending[1]);
    ending[2] = (ending[2] == LIVE && isIssued -> BY_REVOCATION : ending[2]);
    excused[2] = excused[2] || inHand[0] == 2 || inHand[1] == 2
}
#else
#define TELL goto revoking
#define IS_TOLD skip

inline endBy(grant) {
    ending[grant] = BY_REVOCATION
}
#endif

/* ---- Steps that several flows have. */

/* In the same step go on there, where it is written down once. */
#define finish() goto finishing
#define adopt() goto adopting
#define MAY_DIE if :: deaths > 0 -> goto dying :: true fi

/* A write or removal that fails. */
#define DISK_FAILS (faults > 0) -> faults--

#ifdef WITHOUT_LOCK
#define TAKE_LOCK (true)
#else
#define TAKE_LOCK (lock == FREE) -> lock = me + 1
#endif

#ifdef WITHOUT_LEASE
#define TAKE_LEASE (true)
#else
#define TAKE_LEASE (lease == FREE) -> lease = me + 1
#endif

#ifdef FENCED
#define FORGET_LEASE hasLease = false
#else
#define FORGET_LEASE skip
#endif

/* A token exchange spends nothing; and what was spent for the tokens of a reply is the one before. */
#define SPENT (token - !isExchange)
#ifdef DERIVATION_WITHOUT_INTENT
#define IS_RECORDED !isDerivation
#else
#define IS_RECORDED !isExchange
#endif

/* A request is out: then nobody may have to wait for it who does not want the same. */
#define REQUEST require(9, lock != me + 1)

/* Whether the locks of a write still are its writer's. It takes one anew only when it has let go of the one before. */
#if defined(FENCED) && !defined(WITHOUT_FENCE)
#define IS_HELD (lock == me + 1 && (!hasLease || lease == me + 1))
#else
#define IS_HELD (true)
#endif

/* Whether the account still is the one that was read. With a lock that is not lost, it always is. */
#if defined(WITHOUT_REVISIONS) || defined(WITHOUT_LOCK)
#define IS_UNCHANGED IS_HELD
#else
#define IS_UNCHANGED (isRead[me] && IS_HELD)
#endif
#ifdef LOSES_LOCKS
#define CONFLICT (!IS_UNCHANGED)
#endif

/* AccountArchive.load(): tokens that could not be saved count in place of those that were spent for them. */
inline load(grant, token) {
    if
    :: isUnsaved[home] -> grant = unsavedGrant[home]; token = unsavedToken[home]
    :: else -> grant = storedGrant; token = storedToken
    fi
}

/* AccountArchive.load(in:) */
inline read(grant, token) {
    load(grant, token);
    isRead[me] = true
}

/* Every write makes a revision that nobody has read. */
inline replaceAccount(grant, token) {
    isUnsaved[0] = isUnsaved[0] && storedGrant == grant && storedToken == token;
    isUnsaved[1] = isUnsaved[1] && storedGrant == grant && storedToken == token;
    storedGrant = grant;
    storedToken = token;
    isRead[0] = false; isRead[1] = false
}

/* A save by whoever does not sign in. It may replace the same or older tokens of the same grant, and nothing else. */
inline commit(grant, token) {
    require(3, storedGrant == grant && storedToken <= token);
    replaceAccount(grant, token);
    lastSaved[grant] = token;
    isLost[grant] = isLost[grant] && token != newest[grant]
}

/* The service says that it is over. It must be about what is stored, and none of our own doing. */
inline clearSinceEnded(grant, token) {
    require(1, storedGrant == grant && (storedToken == token || (isUnsaved[home] && unsavedToken[home] == token)));
    require(1, ending[grant] == BY_ADMINISTRATOR || (ending[grant] != LIVE && excused[grant]));
    replaceAccount(NOBODY, 0)
}

/* A caller gets an access token, or the service does. */
inline use(grant, token) {
    require(4, token <= lastSaved[grant] || (unsavedGrant[home] == grant && unsavedToken[home] == token))
}

#define isQueued(grant, token) ((queue[grant] >> token) & 1)
#define enqueue(grant, token) queue[grant] = queue[grant] | (1 << token)
#define unqueue(grant, token) queue[grant] = queue[grant] & ~(1 << token)

/* A record too many is harmless, so nothing depends on this. */
inline forgetIntent() {
    if
    :: intent ->
        if
        :: DISK_FAILS
        :: IS_HELD -> intent = false
#ifdef FENCED
        :: !IS_HELD
#endif
        fi
    :: else
    fi
}

/* AccountArchive.save: what could not be saved before now is, which settles the record of it. */
inline settleUnsaved() {
    if
#ifdef SAVE_FORGETS_LATER_INTENT
    :: isUnsaved[home] -> intent = false
#else
    :: isUnsaved[home] && !hasLaterIntent[home] -> intent = false
#endif
    :: else
    fi
}

/* Somebody has the token that is good, or can have it ended, or it is no fault of the programs. */
#define isKnown(grant) (ending[grant] != LIVE || (storedGrant == grant && storedToken == newest[grant]) \
    || isQueued(grant, newest[grant]) || inHand[0] == grant || inHand[1] == grant || isLost[grant])
#define isRevoked(grant) (!signedOut[grant] || queue[grant] != 0 || ending[grant] != LIVE || isTold[grant])

/* What holds whenever nobody holds the lock. */
inline checkAtRest() {
#if defined(LOSES_LOCKS) && !defined(FENCED)
    skip
#else
    if
    :: lock == FREE ->
        /* If the stored refresh token is spent, a record says so. */
        require(1, storedGrant == NOBODY || storedToken == newest[storedGrant] || intent);
        require(7, isRevoked(1) && isRevoked(2));
        require(8, isKnown(1) && (!isIssued || isKnown(2)))
    :: else
    fi
#endif
}

inline unlock() {
    if
    :: lock == me + 1 -> lock = FREE; checkAtRest()
    :: else
    fi;
    isRead[me] = false
}

/* What is stored is the result; that may be nothing. */
inline adoptUnlessGone() {
    if
    :: readGrant == NOBODY -> finish()
    :: else -> adopt()
    fi
}

inline endLease() {
    if
    :: lease == me + 1 -> lease = FREE
    :: else
    fi;
    FORGET_LEASE
}

inline forgetMemory() {
    unsavedGrant[home] = NOBODY; unsavedToken[home] = 0; hasLaterIntent[home] = false; isUnsaved[home] = false
}

proctype Program(byte me; byte operations) {
    byte deaths = DEATHS;

    /* The account that the operation is about, and the one that it is compared with. */
    byte grant, token, readGrant, readToken;
    mtype:answer reply = NONE;
    bool isHeld;                /* an exchange is under way: ExchangeObserver */
    bool isCheck, afterRefusal, justRefreshed, isRetry, hadIntent, queueFailed;
    bool isDerivation;          /* it is a token for another API that is wanted */
    bool isExchange;            /* and it is had in exchange for the access token */
#ifdef LOSES_LOCKS
    byte conflicts;             /* how often its locks were found to be lost when new tokens had come */
#endif
#ifdef FENCED
    bool hasLease;              /* its transactions are those of a refresh */
#endif

/* Whatever came before, the next operation is any of these. */
choosing:
    atomic {
        if
        :: deaths > 0 ->
            /*
             * A first signal ends a program that holds none back; SIGKILL, a second Ctrl-C or a power cut ends any. The kernel
             * frees its locks. The memory is gone, and with it a reply that was not written.
             */
dying:
            deaths--;
            if
#ifdef SIGNAL_NOT_HELD
            :: true
#else
            :: !isHeld
#endif
            :: isHeld ->
                excused[inHand[me]] = true;
                isLost[inHand[me]] = true
            fi;
            forgetMemory();
            finish()
        :: true
        fi;
        if
        :: operations > 0 -> operations--
        :: operations == 0 ->
#ifndef ONE_PROCESS
            forgetMemory();
#endif
            finished++;
            goto done
        fi;
        if
        /* AccountStore.checkSession; the token may look expired. */
        :: true ->
            isCheck = true;
            load(grant, token);
            if
            :: grant == NOBODY -> finish()
            :: grant != NOBODY -> goto verifying
            :: grant != NOBODY -> goto leasing
            fi
        /* AccountStore.refresh, accessToken */
        :: true ->
            load(grant, token);
            if
            :: grant == NOBODY -> finish()
            :: grant != NOBODY -> goto leasing
            fi
        /* AccountStore.accessToken(for:), by a refresh or by a token exchange */
        :: DERIVATIONS ->
            load(grant, token);
            if
            :: grant == NOBODY -> finish()
            :: grant != NOBODY -> isDerivation = true; goto leasing
            :: grant != NOBODY -> isDerivation = true; isExchange = true; goto leasing
            fi
        /* AccountStore.signIn */
        :: !isIssued -> goto exchanging
        /* AccountStore.signOut */
#ifdef SIGN_OUT_TAKES_LEASE
        :: TAKE_LEASE;
            goto signingOut
#else
        :: TAKE_LOCK;
            goto signingOut
#endif
        /* AccountStore.deliverRevocations; of several, each may be the first */
        :: queue[1] != 0 -> grant = 1; goto delivering
        :: queue[2] != 0 -> grant = 2; goto delivering
        fi
    }

/* ---- CheckFlow */

verifying:
    atomic {
        MAY_DIE;
        REQUEST;
        use(grant, token);
        if
        :: ending[grant] == LIVE -> goto comparingToStore
        /* An app's own authority may be certain. */
        :: ending[grant] != LIVE -> goto comparingToClearChecked
        /* 401, since the token has expired or the grant has ended. */
        :: !justRefreshed -> afterRefusal = true; goto leasing
        /* No answer, or none that says anything; or the caller has left. */
        :: true -> finish()
        fi
    }
comparingToStore:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
        :: readGrant == grant && readToken == token -> readGrant = NOBODY; readToken = 0; goto storing
        /* Of tokens that were replaced meanwhile the service has said nothing yet. */
        :: else ->
            if
            :: justRefreshed -> finish()
            :: !justRefreshed -> adoptUnlessGone()
            fi
        fi
    }
storing:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS
        :: IS_UNCHANGED -> settleUnsaved(); commit(grant, token)
#ifdef LOSES_LOCKS
        :: CONFLICT
#endif
        fi;
        finish()
    }
comparingToClearChecked:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
#ifdef CLEAR_WITHOUT_COMPARING
        :: goto clearingChecked
#else
        :: readGrant == grant && readToken == token -> goto clearingChecked
        :: else -> finish()
#endif
        fi
    }
clearingChecked:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS
        :: IS_UNCHANGED -> clearSinceEnded(grant, token)
#ifdef LOSES_LOCKS
        :: CONFLICT
#endif
        fi;
        finish()
    }

/* ---- RefreshFlow */

leasing:
    atomic {
        if
#ifdef FENCED
        :: TAKE_LEASE; hasLease = true
#else
        :: TAKE_LEASE
#endif
#ifdef DERIVATION_WITHOUT_LEASE
        :: isDerivation
#endif
        /* The caller's time is over, and nothing was begun. */
        :: LEAVES -> finish()
        fi
    }
/* The endpoint is looked up, and there is a connection. Nothing is sent, and nothing is recorded. */
connecting:
    atomic {
        MAY_DIE;
        REQUEST;
        if
        /* The service cannot be reached, or the caller has left. */
        :: finish()
        :: true
        fi
    }
comparing:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
#ifdef WITHOUT_READING_AGAIN
        :: true
#else
        :: readGrant == grant && readToken == token
#endif
        :: readGrant == NOBODY -> finish()
        /* The access token may be what it was, where a refresh token was spent for another API's. */
        :: DERIVATIONS && readGrant == grant && readToken != token -> token = readToken
        /* Another program has had the token that is wanted, or it is another user now. */
        :: isDerivation && readGrant != NOBODY -> finish()
        :: !isDerivation && readGrant != NOBODY && (readGrant != grant || readToken != token) ->
            /* What another program stored is the result; nobody has said here that the service knows it. */
adopting:
            grant = readGrant;
            token = readToken;
            readGrant = NOBODY; readToken = 0; reply = NONE; isHeld = false; hadIntent = false;
            unlock();
            endLease();
            if
            :: isCheck -> justRefreshed = true; afterRefusal = false; goto verifying
            :: !isCheck -> use(grant, token); finish()
            fi
        fi;
        readGrant = NOBODY; readToken = 0
    }
withdrawing:
    atomic {
        MAY_DIE;
#ifndef QUEUE_OUTLIVES_REFRESH
        /* A sign-out died before it cleared. It did not happen, and its revocation would end what is renewed here. */
        if
        :: isQueued(grant, token) ->
            if
            :: DISK_FAILS; finish()
            :: IS_HELD -> unqueue(grant, token)
#ifdef FENCED
            :: !IS_HELD -> finish()
#endif
            fi;
            MAY_DIE
        :: else
        fi;
#endif
#ifdef SEND_BEFORE_RESERVE
        goto recording;
#endif
    THEN(preparing)
        if
        :: DISK_FAILS;
            require(5, reply != TOKENS);
#ifdef LOCK_IS_FORGOTTEN
            lock = FORGOTTEN;
#endif
#ifdef LEASE_IS_FORGOTTEN
            lease = FORGOTTEN;
#endif
            finish()
        :: IS_HELD
#ifdef FENCED
        :: !IS_HELD -> finish()
#endif
        fi;
#ifdef SEND_BEFORE_RESERVE
        if
        :: reply == TOKENS -> goto saving
        :: else
        fi;
#endif
    THEN(recording)
        if
        :: isExchange ->
#ifndef LEASE_IS_ACCOUNT_LOCK
            unlock();
#endif
            goto exchangingToken
#ifdef DERIVATION_WITHOUT_INTENT
        :: isDerivation && !isExchange
#endif
        :: IS_RECORDED && DISK_FAILS; finish()
#ifdef FENCED
        :: IS_RECORDED && !IS_HELD -> finish()
#endif
        /* The intent of a derivation that was refused is its own. */
        :: IS_RECORDED && IS_HELD -> hadIntent = (isHeld -> hadIntent : intent); intent = true; hasLaterIntent[home] = isUnsaved[home]
        fi;
        isHeld = true;
#ifndef LEASE_IS_ACCOUNT_LOCK
        unlock()
#endif
    }
requesting:
    atomic {
        MAY_DIE;
        REQUEST;
#if defined(FENCED) && !defined(SENDS_UNDER_LOST_LEASE)
        /* ArchiveLease.lasts(for:): it was stopped since it took the lease, and another may have sent the token. */
        if
        :: lease == me + 1
        :: lease != me + 1 && hadIntent -> finish()
        :: lease != me + 1 && !hadIntent -> goto forgetting
        fi;
#endif
    THEN(sending)
#if defined(FENCED) && !defined(SENDS_UNDER_LOST_LEASE) && !defined(SENDS_AFTER_STOP)
        /* ArchiveLease.isHeld(for:), with the first byte: it was stopped since that look. */
        if
        :: lease == me + 1
        :: lease != me + 1 && hadIntent -> finish()
        :: lease != me + 1 && !hadIntent -> goto forgetting
        fi;
#endif
        if
        /* Not reached, or told that nothing was done. Of an earlier one whose record was found that is not known. */
#ifdef FORGET_EARLIER_INTENT
        :: goto forgetting
#else
        :: hadIntent -> finish()
        :: !hadIntent -> goto forgetting
#endif
#ifdef REFUSED_DERIVATION_CLEARS
        :: isDerivation -> goto comparingToClear
#endif
        /* No reply or an unclear one, and nothing was done. The record stays: the token may be spent. */
#ifdef FORGET_UNLESS_SILENT
        :: !hadIntent -> goto forgetting
#endif
        :: true -> finish()
        /* Or it will be, even if the sender dies now, or after its deadline. */
        :: lateGrant == NOBODY ->
            lateGrant = grant; lateToken = token; excused[grant] = true;
#ifdef FORGET_UNLESS_SILENT
            if
            :: !hadIntent -> goto forgetting
            :: else
            fi;
#endif
            finish()
        /* It is carried out now, and the reply comes at any time. */
        :: redeem(grant, token, reply);
            if
            :: reply == TOKENS -> inHand[me] = grant
            :: else
            fi
        /* The service does not issue this token for another API, and says so of the refresh token, which it does not spend. */
        :: isDerivation && ending[grant] == LIVE && token == newest[grant] -> reply = INVALID_GRANT
        fi
    }
receiving:
    atomic {
        MAY_DIE;
        REQUEST;
        if
#ifdef EXCHANGE_CUT_OFF
        :: finish()
#else
        /* The caller leaves, with "unverified". */
        :: LEAVES && isCheck -> isCheck = false; afterRefusal = false; justRefreshed = false; goto receiving
#endif
        /* The reply is lost, or the deadline passes. */
        :: reply == TOKENS -> excused[grant] = true; isLost[grant] = true; finish()
        :: reply == INVALID_GRANT -> finish()
        :: reply == TOKENS ->
            token++;
#ifdef USE_BEFORE_SAVE
            use(grant, token);
#endif
#ifdef DERIVATION_REFUSAL_DECIDES
        :: reply == INVALID_GRANT -> goto comparingToClear
#else
        :: reply == INVALID_GRANT && !isDerivation -> goto comparingToClear
        /* That may be about this request only: the response to a plain refresh decides. */
        :: reply == INVALID_GRANT && isDerivation -> isDerivation = false; reply = NONE; goto connecting
#endif
        fi
    }
comparingToCommit:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
#ifdef SEND_BEFORE_RESERVE
        goto preparing;
#endif
#ifndef COMMIT_WITHOUT_COMPARING
        if
        :: readGrant == grant && readToken == SPENT
        :: isExchange && (readGrant != grant || readToken != token) -> finish()
        :: else -> goto queueingOrphan
        fi
#endif
    }
saving:
    atomic {
        MAY_DIE;
        readGrant = NOBODY; readToken = 0;
#if !defined(QUEUE_OUTLIVES_REFRESH) && !defined(QUEUE_OUTLIVES_EXCHANGE)
        /* A sign-out has died meanwhile. As above; but the tokens are here now, and must be saved whatever comes. */
        if
        :: isQueued(grant, SPENT) ->
            if
            :: DISK_FAILS; excused[grant] = excused[grant] || !isExchange
            :: IS_HELD -> unqueue(grant, SPENT)
#ifdef FENCED
            :: !IS_HELD
#endif
            fi;
            MAY_DIE
        :: else
        fi;
#endif
        if
        :: DISK_FAILS;
            if
            :: !isRetry -> isRetry = true; goto saving
            :: isRetry && !isExchange -> goto keeping
            /* Another one can be had. */
            :: isRetry && isExchange -> finish()
            fi
        :: IS_UNCHANGED ->
            settleUnsaved();
#ifdef DERIVATION_DROPS_REFRESH_TOKEN
            token = (isDerivation -> SPENT : token);
#endif
            commit(grant, token);
            reply = NONE; inHand[me] = NOBODY; isHeld = false
#ifdef LOSES_LOCKS
        :: CONFLICT -> goto renewingLease
#endif
        fi;
    THEN(forgettingRenewed)
        MAY_DIE;
#ifdef EXCHANGE_FORGETS_INTENT
        forgetIntent();
#else
        /* It is about the refresh token, of which an exchange says nothing. */
        if
        :: isExchange
        :: else -> forgetIntent()
        fi;
#endif
        unlock();
        endLease();
        use(grant, token);
        if
        :: isCheck && afterRefusal ->
            justRefreshed = true; afterRefusal = false; isRetry = false; hadIntent = false;
#ifdef LOSES_LOCKS
            conflicts = 0;
#endif
            goto verifying
        :: else -> finish()
        fi
    }
#ifdef LOSES_LOCKS
/* What was lost is taken again: the lock, and the lease if its time is over. */
renewingLease:
    atomic {
        MAY_DIE;
        readGrant = NOBODY; readToken = 0; isRetry = false;
        conflicts++;
        unlock();
#ifdef GIVES_UP_WITH_THE_LOCK
        conflicts = 3;
#endif
        if
        :: conflicts == 3 && isExchange -> finish()
        :: conflicts == 3 && !isExchange -> isRead[me] = storedGrant == grant && storedToken == SPENT; goto keeping
        :: conflicts < 3
        fi;
#ifdef FENCED
#ifdef RENEWS_A_LEASE_THAT_IS_HELD
        endLease()
#else
        if
        :: lease == me + 1 -> goto comparingToCommit
        :: else
        fi
#endif
    }
leasingAgain:
    atomic {
        if
        :: TAKE_LEASE
        /* Another's refresh takes too long. */
        :: lease != FREE && isExchange -> finish()
        :: lease != FREE && !isExchange -> isRead[me] = storedGrant == grant && storedToken == SPENT; goto keeping
        fi;
#endif
        goto comparingToCommit
    }
#endif
keeping:
    atomic {
        unsavedGrant[home] = grant;
        unsavedToken[home] = token;
        hasLaterIntent[home] = false;
        isUnsaved[home] = isRead[me];
#ifndef GIVES_UP_WITH_THE_LOCK
        /* The disk did not take them, or the locks were lost again and again. */
        excused[grant] = true;
        isLost[grant] = true;
#endif
        use(grant, token);
        finish()
    }
comparingToClear:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        if
#ifdef REFRESH_CLEARS_WITHOUT_COMPARING
        :: true
#else
        :: readGrant == grant && readToken == token
        :: else -> adoptUnlessGone()
#endif
        fi
    }
clearing:
    atomic {
        MAY_DIE;
        if
        :: DISK_FAILS; finish()
        :: IS_UNCHANGED -> clearSinceEnded(grant, token)
#ifdef LOSES_LOCKS
        :: CONFLICT -> finish()
#endif
        fi;
    THEN(forgettingCleared)
        MAY_DIE;
        forgetIntent();
        finish()
    }
forgetting:
    atomic {
        TAKE_LOCK;
        MAY_DIE;
        forgetIntent();
        finish()
    }

/* A token for another API in exchange for the access token: nothing is spent, whatever becomes of it. */
exchangingToken:
    atomic {
        MAY_DIE;
        REQUEST;
        use(grant, token);
        if
        :: goto comparingToCommit
        /* Refused, not reached, or the reply is lost. */
#ifdef REFUSED_EXCHANGE_CLEARS
        :: goto comparingToClear
#endif
        :: true -> finish()
        fi
    }

/* Nobody here has use for the new tokens any more, neither of a refresh nor of a sign-in: the service ends them. */
queueingOrphan:
    atomic {
        MAY_DIE;
#ifdef LATE_TOKENS_DROPPED
        if
        :: lease == me + 1 -> finish()
        :: else
        fi;
#endif
#ifdef INTERRUPTED_SIGN_IN_DROPPED
        if
        :: lease != me + 1 -> finish()
        :: else
        fi;
#endif
#if defined(ONE_USER) && !defined(ORPHAN_ENDS_OTHER_GRANT)
        /* A refresh drops tokens whose revocation would end the user's later sign-in; a sign-in queues them. */
        if
        :: readGrant != NOBODY && readGrant != grant && lease == me + 1 -> isLost[grant] = true; finish()
        :: else
        fi;
#endif
        if
        :: DISK_FAILS; isLost[grant] = true
        :: IS_HELD -> enqueue(grant, token)
#ifdef FENCED
        :: !IS_HELD && hasLease && conflicts < 2 -> goto renewingLease
        :: !IS_HELD && !(hasLease && conflicts < 2) -> isLost[grant] = true
#endif
        fi;
        inHand[me] = NOBODY; isHeld = false; reply = NONE;
    THEN(forgettingOrphaned)
        MAY_DIE;
        if
#ifdef FENCED
        /* It may be another's by now. */
        :: lease == me + 1 && conflicts == 0 -> forgetIntent()
#else
        :: lease == me + 1 -> forgetIntent()
#endif
        :: else
        fi;
        isCheck = false; afterRefusal = false; justRefreshed = false; isRetry = false; hadIntent = false;
        isDerivation = false; isExchange = false;
#ifdef LOSES_LOCKS
        conflicts = 0;
#endif
        unlock();
        endLease();
#if defined(ONE_USER) && !defined(ORPHAN_ENDS_OTHER_GRANT)
        if
        :: readGrant != NOBODY && readGrant != grant -> finish()
        :: else
        fi;
#endif
        readGrant = NOBODY; readToken = 0;
        TELL
    }

/* ---- AccountStore.signIn, storeSignIn */

exchanging:
    atomic {
        if
        :: isIssued -> finish()         /* the other program was faster; one sign-in is enough here */
        :: else
        fi;
        MAY_DIE;
        REQUEST;
        isHeld = true;
        grant = 2;
        isIssued = true;
        inHand[me] = 2
    }
receivingSignIn:
    atomic {
        MAY_DIE;
        REQUEST;
        if
        :: isLost[2] = true; finish()   /* the reply is lost */
        :: LEAVES -> goto lockingToQueue
        :: true
        fi
    }
comparingToSignIn:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken)
    }
savingSignIn:
    atomic {
        MAY_DIE;
        require(9, lease != me + 1);
#ifndef REPLACED_IS_DROPPED
        if
        :: readGrant != NOBODY ->
            if
            :: DISK_FAILS; queueFailed = true
            :: IS_HELD -> enqueue(readGrant, readToken)
#ifdef FENCED
            :: !IS_HELD -> queueFailed = true
#endif
            fi;
            MAY_DIE
        :: else
        fi;
#endif
    THEN(replacing)
        if
        :: DISK_FAILS; goto withdrawingReplaced
        :: IS_UNCHANGED ->
            signedOut[readGrant] = readGrant != NOBODY && !queueFailed;
            isLost[readGrant] = isLost[readGrant] || (readGrant != NOBODY && queueFailed);
#ifdef ONE_USER
            excused[2] = excused[2] || isTelling[1 - me];
#endif
            replaceAccount(grant, token);
            inHand[me] = NOBODY; isHeld = false
#ifdef LOSES_LOCKS
        :: CONFLICT -> goto withdrawingReplaced
#endif
        fi;
    THEN(forgettingReplaced)
        MAY_DIE;
        forgetIntent();
        grant = readGrant; token = readToken; readGrant = NOBODY; readToken = 0; queueFailed = false;
        unlock();
        if
        :: grant == NOBODY -> finish()
#if defined(ONE_USER) && !defined(REPLACED_ENDS_OTHER_GRANT)
        :: grant != NOBODY -> finish()
#else
        :: grant != NOBODY -> TELL
#endif
        fi
    }
withdrawingReplaced:
    atomic {
        MAY_DIE;
        if
        :: readGrant != NOBODY && !queueFailed ->
            if
            :: DISK_FAILS
            :: IS_HELD -> unqueue(readGrant, readToken)
#ifdef FENCED
            :: !IS_HELD
#endif
            fi
        :: else
        fi;
        queueFailed = false;
#ifdef UNSAVED_SIGN_IN_DROPPED
        finish()
#else
        goto queueingOrphan
#endif
    }
/* The person has interrupted it. */
lockingToQueue:
    atomic {
        TAKE_LOCK;
        read(readGrant, readToken);
        goto queueingOrphan
    }

/* ---- SignOutFlow, and then AccountStore.signOut */

signingOut:
    atomic {
#ifdef SIGN_OUT_TAKES_LEASE
        TAKE_LOCK;
#endif
        read(grant, token);
        if
        :: grant == NOBODY -> finish()
#ifdef CLEAR_BEFORE_QUEUE
        :: grant != NOBODY -> goto clearingForUser
#else
        :: grant != NOBODY
#endif
        fi
    }
queueing:
    atomic {
        MAY_DIE;
        if
        /* A full disk keeps nobody signed in. */
        :: DISK_FAILS; queueFailed = true; signedOut[grant] = false
        :: IS_HELD -> enqueue(grant, token)
#ifdef FENCED
        :: !IS_HELD -> queueFailed = true
#endif
        fi;
#ifdef CLEAR_BEFORE_QUEUE
        goto forgettingSignedOut;
#endif
    THEN(clearingForUser)
        MAY_DIE;
        require(9, lease != me + 1);
        if
        :: DISK_FAILS; goto removing        /* still signed in, so the revocation is withdrawn */
        :: IS_UNCHANGED ->
            replaceAccount(NOBODY, 0);
            signedOut[grant] = !queueFailed;
            isLost[grant] = isLost[grant] || queueFailed
#ifdef LOSES_LOCKS
        :: CONFLICT -> goto removing
#endif
        fi;
#ifdef CLEAR_BEFORE_QUEUE
        goto queueing;
#endif
    THEN(forgettingSignedOut)
        MAY_DIE;
        forgetIntent();
        queueFailed = false;
        unlock();
        TELL
    }
revoking:
    atomic {
        MAY_DIE;
        REQUEST;
        IS_TOLD;
        if
        :: true -> revoke(grant, token)
        :: true -> revoke(grant, token); finish()          /* the reply is lost */
        :: true -> finish()                                /* not reached */
        fi
    }
lockingToRemove:
    atomic { TAKE_LOCK }
removing:
    atomic {
        MAY_DIE;
        if
        :: isQueued(grant, token) ->
            if
            :: DISK_FAILS
            :: IS_HELD -> unqueue(grant, token)
#ifdef FENCED
            :: !IS_HELD
#endif
            fi
        :: else
        fi;
        skip;
/* Here every operation ends. */
finishing:
        inHand[me] = NOBODY;
        unlock();
        checkAtRest();
        endLease();
        grant = NOBODY; token = 0; readGrant = NOBODY; readToken = 0; reply = NONE;
        isCheck = false; afterRefusal = false; justRefreshed = false;
        isRetry = false; hadIntent = false; queueFailed = false; isHeld = false;
#ifdef LOSES_LOCKS
        conflicts = 0;
#endif
        IS_TOLD;
        isDerivation = false; isExchange = false;
        goto choosing
    }

/* ---- AccountStore.deliverRevocations */

delivering:
    atomic {
#ifndef DELIVER_WITHOUT_LOCK
        TAKE_LOCK;
#endif
        do
        :: isQueued(grant, token) -> break
        :: !isQueued(grant, token) && token < newest[grant] -> token++
        :: !isQueued(grant, token) && token >= newest[grant] -> finish()             /* another program was faster */
        od;
#ifdef DELIVER_WITHOUT_LOCK
    }
    atomic {
#endif
        load(readGrant, readToken);
        if
        /* A sign-out died before it cleared, so it did not happen. */
#ifdef DELIVER_WITHOUT_LOCK
        :: readGrant == grant && readToken == token -> goto lockingToRemove
#else
        :: readGrant == grant && readToken == token -> readGrant = NOBODY; readToken = 0; goto removing
#endif
#if defined(ONE_USER) && !defined(QUEUE_ENDS_OTHER_GRANT)
        /* It would end the user's later sign-in, so it waits for the sign-out. */
        :: readGrant != grant && readGrant != NOBODY -> finish()
#endif
        :: else -> readGrant = NOBODY; readToken = 0; unlock(); TELL
        fi
    }

done:
    skip
}

/* Everything else that can happen. */
proctype World() {
    bool mayEndGrant = true;
    mtype:answer ignored = NONE;
#if defined(LOSES_LOCKS) && !defined(FENCED)
    bool mayTakeLock = true;
#endif
end:
    do
    :: atomic { mayEndGrant && ending[1] == LIVE -> mayEndGrant = false; ending[1] = BY_ADMINISTRATOR }
    :: atomic { mayEndGrant && isIssued && ending[2] == LIVE -> mayEndGrant = false; ending[2] = BY_ADMINISTRATOR }
    :: atomic {
        lateGrant != NOBODY ->
        redeem(lateGrant, lateToken, ignored);
        isLost[lateGrant] = isLost[lateGrant] || ignored == TOKENS;
        lateGrant = NOBODY; lateToken = 0; ignored = NONE;
        checkAtRest()
    }
#ifdef FENCED
    /* Nothing was heard of the holder for too long: it was stopped, or is cut off, or has died. */
    :: atomic { lock != FREE -> lock = FREE; checkAtRest() }
    /* An exchange is over by then: whoever wakes later than that may find its tokens spent by others. */
    :: atomic {
        lease != FREE ->
#ifndef LEASE_NOT_KEPT_ALIVE
        excused[inHand[lease - 1]] = true;
#endif
        lease = FREE
    }
#elif defined(LOSES_LOCKS)
    /* Whoever holds the lock is not told. What then becomes of the refresh token is no fault of the programs. */
    :: atomic { mayTakeLock && lock != FREE -> mayTakeLock = false; lock = FREE; excused[1] = true; excused[2] = true }
    :: atomic { mayTakeLock && lease != FREE -> mayTakeLock = false; lease = FREE; excused[1] = true; excused[2] = true }
#endif
    od
}

init {
    atomic { run Program(0, FIRST); run Program(1, SECOND); run World() };
    finished == 2;
    require(6, lock == FREE && lease == FREE)
}
