/* The ledger's protocol, for two leaders and three nodes. README.md says which step is which function of careen, how to
   run this, and what is left out.

   Versions. Of a resourceVersion only one thing ever matters: whether the object has changed since. So there are no
   numbers here. Whoever holds a version holds it only as long as it is the newest; a change takes it away from all of
   them in the same step (`changes` for a node, `store` for the ledger). What they would learn from a conflict is in
   their state: OUTDATED, or !version.

   Unknown answers. A write is one step with four ends: accepted; applied, but the answer is lost; on the wire, to be
   applied at any time while its version is the newest; lost. A write that hangs and is then answered is the second or
   third of these. Nothing bounds the number of faults, take-overs or changes by others.

   Clocks. Before the calm, either leader may believe that it leads whatever the lock says: it may have been suspended, or
   somebody may have edited the lock. With -DLEASE=1 the clocks are right: only the holder of the lock sends. */

#ifndef LIMIT
#define LIMIT 1
#endif
#ifndef LEASE
#define LEASE 0
#endif
#define NODES 3
#define NOBODY 2

/* Sets of nodes. */
#define ALL 7
#define bit(n) (1 << (n))
#define has(set, n) (((set) >> (n)) & 1)
#define count(set) (has(set, 0) + has(set, 1) + has(set, 2))
#define add(set, n) set = set | bit(n)
#define drop(set, n) set = set & ~bit(n)

/* At the API server, and on the wire. */
byte in;                                      /* nodes in maintenance */
byte late;                                    /* nodes that a write on the wire will put there, if it still fits */
byte ledger, owner = NOBODY;                  /* who is admitted; whose epoch and identity the record bears */
byte late_ledger, late_writer = NOBODY;       /* a ledger write on the wire that still fits */
byte lock = NOBODY;                           /* kept only while it means anything: see `tracked` */
bool calm;                                    /* from now on no faults, and who has lost the lock knows it */

/* In a leader's memory. A node's place: */
#define FREE 0
#define INHERITED 1                           /* a predecessor's admission; its write may be on the way */
#define RESERVED 2                            /* counts, and waits for the ledger */
#define RECORDED 3                            /* the ledger has it: the node may be written */
#define UNKNOWN 4                             /* written, no answer, and the version is still the newest */
#define OUTDATED 5                            /* the node has changed since the decision, and the leader has yet to see it */
/* The leader itself: */
#define STANDBY 0
#define TAKING 1                              /* has the lock, not yet the ledger */
#define LISTING 2                             /* has the ledger, not yet the nodes */
#define LEADING 3

typedef Leader {
  byte stage;
  byte place[NODES];
  byte cache;                                 /* nodes it knows to be in maintenance */
  bool version;                               /* the ledger is as it last saw it */
  bool doubt                                  /* its last ledger write was not accepted: read it back */
}
Leader L[2];

#define me L[i]
#define at(n, p) (bit(n) * (me.place[n] == p))
#define those(p) (at(0, p) | at(1, p) | at(2, p))
#define entries (ALL & ~those(FREE))
#define used_by_others(n) count((me.cache | entries) & ~bit(n))
#define tracked (LEASE || calm)
#define may_send (lock == i || !tracked)
#define turn(n, set, p, q) me.place[n] = (has(set, n) && me.place[n] == p -> q : me.place[n])
#define turn_all(set, p, q) turn(0, set, p, q); turn(1, set, p, q); turn(2, set, p, q)
#define outdate(l, n) L[l].place[n] = (L[l].place[n] >= RESERVED -> OUTDATED : L[l].place[n])

inline changes(n) { outdate(0, n); outdate(1, n); drop(late, n) }
inline enters(n) { add(in, n); changes(n); assert(count(in) <= LIMIT) }      /* the limit holds */
inline leaves(n) { drop(in, n); drop(L[0].cache, n); drop(L[1].cache, n); changes(n) }
inline see(n) { me.cache = me.cache | (in & bit(n)) }
inline finish(n) { me.place[n] = FREE; see(n) }
inline store(content, writer) {
  ledger = content; owner = writer;
  L[0].version = false; L[1].version = false;
  late_ledger = 0; late_writer = NOBODY
}
inline straggle() { late_ledger = entries; late_writer = i }
inline inherit() {
#ifndef INHERITED_FORGOTTEN
  turn_all(ledger, FREE, INHERITED)
#else
  skip
#endif
}
inline ends() {
  me.place[0] = FREE; me.place[1] = FREE; me.place[2] = FREE;
  me.cache = 0; me.version = false; me.doubt = false; me.stage = STANDBY
}

#define takes (me.stage == TAKING && may_send)
#define write_due (me.stage == LEADING && !me.doubt && may_send && (those(RESERVED) || (ledger & ~entries)))

proctype Lead(byte i) {
  do
  /* The lock, and the end of a process: it crashes, or hears that another leads. */
  :: d_step { me.stage == STANDBY && (!calm || lock == i) ->
       lock = (tracked -> i : NOBODY); me.stage = TAKING; printf("%d: leads\n", i) }
  :: d_step { me.stage != STANDBY && !calm -> ends(); printf("%d: ends\n", i) }

  /* First the ledger, by compare-and-swap, then a list of the nodes. */
#ifndef NODES_FIRST
  :: d_step { takes -> inherit(); store(entries, i); me.version = true; me.stage = LISTING;
       printf("%d: takes the ledger over, with entries %d\n", i, entries) }
  :: d_step { me.stage == LISTING -> me.cache = in; me.stage = LEADING; printf("%d: lists the nodes\n", i) }
#else
  :: d_step { me.stage == TAKING -> me.cache = in; me.stage = LISTING; printf("%d: lists the nodes\n", i) }
  :: d_step { me.stage == LISTING && may_send -> inherit(); store(entries, i); me.version = true; me.stage = LEADING;
       printf("%d: takes the ledger over, with entries %d\n", i, entries) }
#endif
  :: d_step { takes && !calm -> inherit(); store(entries, i); printf("%d: takes the ledger over, no answer\n", i) }
  :: d_step { takes && !calm -> inherit(); straggle(); printf("%d: a take-over is on the wire\n", i) }

  /* Its writes: what is reserved comes in, what has ended goes. */
  :: d_step { write_due && me.version -> store(entries, i); me.version = true; turn_all(ALL, RESERVED, RECORDED);
       printf("%d: writes the ledger: %d\n", i, entries) }
  :: d_step { write_due && !me.version -> me.doubt = true; printf("%d: the ledger conflicts\n", i) }
  :: d_step { write_due && me.version && !calm -> store(entries, i); me.doubt = true;
       printf("%d: writes the ledger: %d, no answer\n", i, entries) }
  :: d_step { write_due && me.version && !calm -> straggle(); me.doubt = true;
       printf("%d: a ledger write is on the wire: %d\n", i, entries) }
  :: d_step { write_due && me.version && !calm -> me.doubt = true; printf("%d: a ledger write is lost\n", i) }

  /* After a conflict, or no answer: another's record, our write, or what was there before. */
#ifndef NO_FENCING
  :: d_step { me.doubt && owner != i -> ends(); printf("%d: finds another's record, and ends\n", i) }
#else
  :: d_step { me.doubt && owner != i -> me.version = true; me.doubt = false; printf("%d: finds another's record\n", i) }
#endif
  :: d_step { me.doubt && owner == i && !me.version -> turn_all(ledger, RESERVED, RECORDED);
       me.version = true; me.doubt = false; printf("%d: finds its write in the ledger: %d\n", i, ledger) }
#ifndef READ_BACK
  :: d_step { me.doubt && owner == i && me.version -> me.doubt = false; printf("%d: does not find its write in the ledger\n", i) }
#else
  :: d_step { me.doubt && owner == i && me.version -> turn_all(ledger, RESERVED, RECORDED);
       me.doubt = false; printf("%d: finds entries in the ledger: %d\n", i, ledger) }
#endif
  od
}

#ifndef UNRECORDED
#define send_due (me.stage == LEADING && me.place[n] == RECORDED && may_send)
#else
#define send_due (me.stage == LEADING && (me.place[n] == RECORDED || me.place[n] == RESERVED) && may_send)
#endif
#ifndef AMBIGUOUS
#define unanswered(p) me.place[n] = p
#else
#define unanswered(p) me.place[n] = FREE
#endif
#define settle_due (me.stage == LEADING && may_send && \
                    (me.place[n] == UNKNOWN || me.place[n] == INHERITED && !has(in, n)))

proctype Act(byte i; byte n) {
  do
  /* Deciding and reserving are one step. */
  :: d_step { me.stage == LEADING && me.place[n] == FREE && !has(me.cache, n) && used_by_others(n) < LIMIT ->
       me.place[n] = (has(in, n) -> OUTDATED : RESERVED); printf("%d: reserves a place for node %d\n", i, n) }

  /* Only what is recorded is written. */
  :: d_step { send_due -> printf("%d: puts node %d into maintenance\n", i, n); enters(n); finish(n) }
  :: d_step { send_due && !calm -> printf("%d: puts node %d into maintenance, no answer\n", i, n);
       enters(n); unanswered(OUTDATED) }
  :: d_step { send_due && !calm -> add(late, n); unanswered(UNKNOWN);
       printf("%d: a write of node %d is on the wire\n", i, n) }
  :: d_step { send_due && !calm -> unanswered(UNKNOWN); printf("%d: a write of node %d is lost\n", i, n) }

  /* The node is read and has changed: our write took effect, or never will. The next decision reserves anew. */
#ifndef LEAK
  :: d_step { me.place[n] == OUTDATED -> finish(n); printf("%d: finds that node %d has changed\n", i, n) }
#else
  :: d_step { me.place[n] == OUTDATED && has(in, n) -> finish(n); printf("%d: finds that node %d has changed\n", i, n) }
#endif
  :: d_step { me.stage == LEADING && me.place[n] == INHERITED && has(in, n) -> finish(n);
       printf("%d: finds that node %d got there\n", i, n) }

  /* It has not changed: a touch makes sure that the write will conflict. (One without an answer is a change by others.) */
#ifndef NO_TOUCH
  :: d_step { settle_due -> changes(n); finish(n); printf("%d: touches node %d, its place is free\n", i, n) }
#else
  :: d_step { settle_due -> finish(n); printf("%d: finds node %d unchanged, its place is free\n", i, n) }
#endif

  :: d_step { me.stage == LEADING && has(in & ~me.cache, n) -> see(n); printf("%d: sees node %d in maintenance\n", i, n) }
  od
}

proctype Node(byte n) {
  do
  :: d_step { has(late, n) -> printf("   the late write of node %d arrives\n", n); enters(n) }
  :: d_step { !calm && has(in, n) -> leaves(n); printf("   node %d leaves maintenance\n", n) }
  :: d_step { !calm && (late & bit(n) || L[0].place[n] > INHERITED || L[1].place[n] > INHERITED) ->
       changes(n); printf("   somebody changes node %d\n", n) }
  od
}

proctype World() {
  byte i;
  do
  :: d_step { late_writer != NOBODY ->
       printf("   a late ledger write of %d arrives: %d\n", late_writer, late_ledger); store(late_ledger, late_writer) }
#ifdef CALM
  :: d_step { !calm -> calm = true; lock = 0; i = 1; ends(); i = 0; printf("   no more faults: 0 has the lock\n") }
  :: d_step { !calm -> calm = true; lock = 1; i = 0; ends(); printf("   no more faults: 1 has the lock\n") }
#endif
  od
}

init {
  atomic {
    run World(); run Lead(0); run Lead(1); run Node(0); run Node(1); run Node(2);
    run Act(0, 0); run Act(0, 1); run Act(0, 2); run Act(1, 0); run Act(1, 1); run Act(1, 2)
  }
}

#ifdef CALM
/* No place is lost for ever: once the faults end, all places are used and the ledger becomes empty. */
ltl none_lost { [] (calm -> <> (count(in) == LIMIT && ledger == 0)) }
#endif
