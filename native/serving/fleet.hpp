// Fleet: engines on one clock, from the first arrival to the last token.
//
// A replica is one engine, or several that step together (attention in parallel over data). At one
// instant iterations end, then KV arrives, then requests, then engines plan, in the order of pools
// and replicas. Iterations that are alike are one event, which an arrival cuts at the end of the
// iteration under way: so a run costs as many steps as batches change.
#pragma once

#include <compare>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <span>
#include <string>

#include "serving/arrivals.hpp"
#include "serving/carrier.hpp"
#include "serving/records.hpp"
#include "serving/routing.hpp"
#include "serving/scaling.hpp"

namespace yantra::serving {

struct FleetOptions {
    u64 bytes_per_token = 0;   // of KV that moves
    u32 layers = 1;            // by which it is sent; 1: whole, at the prompt's end
    u64 most_under_way = 0;    // requests that have not ended, others wait outside; 0: no bound
    u64 most_logged = 0;       // iterations
    bool samples = false;
    u32 pool_blocks = 0;       // of KV in a pool that all engines read and write
};

class Fleet {
public:
    Fleet(const Requests& requests, const FleetOptions& options);

    // A replica of `lanes` engines.
    void add(Role role, std::string_view engine, const EngineOptions& given, std::shared_ptr<const Cost> cost,
             u32 lanes, u32 stages, const Presence& presence);
    using Make = std::function<std::unique_ptr<Engine>(const Engine::Place&)>;
    void add(Role role, const Make& make, std::shared_ptr<const Cost> cost, u32 lanes, u32 stages,
             const Presence& presence);
    void route(Role role, std::unique_ptr<Routing> routing);
    // Replicas of the role that are not there from the beginning come when they are needed.
    void scale(Role role, const Scaling& scaling) { scaling_[place_of(role)] = scaling; }
    void carry(std::unique_ptr<Carrier> carrier) { carrier_ = std::move(carrier); }

    // Until nothing more happens. Requests that have not ended then can never.
    void run();

    const Ledger& ledger() const { return ledger_; }
    const Vector<Replica>& replicas() const { return replicas_; }
    const Records& records() const { return records_; }
    Time now() const { return now_; }

private:
    struct ReplicaEnd {
        Time time;
        u32 replica;
        u32 version;
        friend auto operator<=>(const ReplicaEnd&, const ReplicaEnd&) = default;
    };
    enum class TurnKind : u8 { comes, fails, may_go, may_enter };
    struct Turn {
        Time time;
        u32 replica;
        TurnKind kind;
        Time since = 0;   // may_go: it was idle then
        friend auto operator<=>(const Turn&, const Turn&) = default;
    };

    Time next_time();
    void end_iterations();
    void end_iteration(u32 replica);
    void take_finished();
    void take_prefilled();
    // Its KV goes to an engine for decode, or waits until one is up.
    void move(RequestId request);
    void take_moves();
    void take_turns();
    void take_arrivals();
    void arrive(RequestId request);
    // To one of the engines that are up, or it waits until one is.
    void hand_to(RequestId request, Role role);
    TargetId chosen(RequestId request, Role role);
    void accept(RequestId request, TargetId target);
    void cut(u32 replica);
    void make_ready(u32 replica);
    void plan_ready();
    bool fill(Replica& of, bool ahead);
    void start(u32 replica);
    void enter(u32 replica);
    void leave(u32 replica);
    void book(Replica& of, Replica::Lane& lane, Batch& batch, const Ended& when);
    void note_idle(u32 replica);
    // Its engines have nothing to do until then.
    void sleep(u32 replica);
    void comes(u32 replica);
    void ask_for_more(Role role);
    void may_go(u32 replica, Time since);
    void goes(u32 replica);
    void fails(u32 replica);
    Engine& engine_of(TargetId target);

    const Requests& requests_;
    FleetOptions options_;
    Ledger ledger_;
    Sequences sequences_;
    Tier pool_;
    Vector<Replica> replicas_;
    Vector<u32> replica_of_;              // by target
    Vector<Target> targets_[3];           // that are up, by role
    std::unique_ptr<Routing> routing_[3];
    std::unique_ptr<Carrier> carrier_;
    bool has_pools_ = false;

    Time now_ = 0;
    Arrivals arrivals_;
    std::priority_queue<ReplicaEnd, std::vector<ReplicaEnd>, std::greater<>> ends_;
    struct Homeless {
        RequestId request;
        Role role;
    };
    std::deque<Homeless> homeless_;       // nobody who would take them is up
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
    Scaling scaling_[3];                  // by role
    Vector<u32> ready_;                   // replicas to plan at this instant
    Vector<RequestId> unsent_;            // with KV that no engine is up to take
    Records records_;
};

}  // namespace yantra::serving
