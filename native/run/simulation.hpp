// Simulation: one run of a Model: the components, and the loop that dispatches events. A folded run
// (fold/runtime/folded_run.hpp) supplies actors, network, watcher and phase times.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collective/runtime/collectives.hpp"
#include "engine/actors.hpp"
#include "engine/engine.hpp"
#include "execution/executor.hpp"
#include "memory/local_bandwidth.hpp"
#include "memory/memory.hpp"
#include "memory/shared_bus.hpp"
#include "network/network.hpp"
#include "model/model.hpp"
#include "run/actor_batches.hpp"
#include "run/charges.hpp"
#include "run/job_arrivals.hpp"
#include "run/look_ahead.hpp"
#include "run/outcome.hpp"
#include "transport/transport.hpp"

namespace yantra::inline YANTRA_RUN {

// By default every rank, without watchers.
struct Cast {
    std::optional<Actors> actors;
    // By default the model's network.
    std::function<std::unique_ptr<NetworkModel>(const Grid&, Engine&)> network;
    OrderWatcher* watcher = nullptr;
    PhaseTimes* times = nullptr;
    // Of the model's network; empty: it may take several, and throw OneThread.
    std::string why_one_thread = "the caller has one thread";
};

class Simulation final : private Completions {
public:
    using Jobs = std::vector<std::pair<RankId, std::shared_ptr<const Job>>>;

    // `match_by_tag`: by tag and size alone, as upstream.
    explicit Simulation(const Model& model, bool match_by_tag = false, Cast cast = {});
    static NetworkSetup network_setup(const Model& model, const Grid& grid, Engine& engine,
                                      const std::string& why_one_thread = Cast{}.why_one_thread);
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    // Call run_for until it returns true.
    void start();
    // True at the end, or if ranks entered different collectives and the quirk asks for matching by
    // tag. Returns early where arrived jobs have ended; see take_ended().
    bool run_for(u64 events);
    // Precondition: not over().
    void step();
    bool over() const { return engine_.queue.empty() || must_match_by_tag(); }

    // A rank's jobs share its slots. Groups are the model's.
    u32 submit(const Jobs& jobs, u64 tick);
    bool withdraw(u32 arrival) { return arrivals_.withdraw(arrival); }
    std::vector<u32> take_ended() { return executor_.arrivals().take_ended(); }
    const LaterJobs::Arrival& arrival(u32 number) const { return executor_.arrivals()[number]; }

    Outcome outcome() const;
    // For a run that will not go on.
    Outcome take_outcome();
    std::optional<Mismatch> mismatch() const;
    u64 now() const { return engine_.now(); }
    u64 nodes_done() const { return executor_.state().nodes_done; }
    Recorder& recorder() { return engine_.recorder(); }

    const Actors& actors() const { return actors_; }
    Engine& engine() { return engine_; }
    NetworkModel& network() { return *network_; }
    const NetworkModel& network() const { return *network_; }
    Transport& transport() { return transport_; }
    Collectives& collectives() { return collectives_; }
    Executor& executor() { return executor_; }

private:
    Outcome without_nodes() const;
    std::vector<JobOfRank> jobs() const;
    void completed(const Completion& completion) override;
    void begins(const Completion& completion) override;
    void handle(const Event& event);
    // At most `most`; returns how many.
    u32 handle_run(const EventRun& run, u64 most);
    bool must_match_by_tag() const {
        return collectives_.mismatch() && model_.semantics.quirks.mismatched_collectives_meet;
    }

    const Model& model_;
    Grid grid_;
    Actors actors_;
    Engine engine_;
    std::unique_ptr<NetworkModel> network_;
    Transport transport_;
    LocalBandwidth local_;
    Memory memory_;
    SharedBus bus_;
    Collectives collectives_;
    Executor executor_;
    LookAhead ahead_;
    JobArrivals arrivals_;
    Components components_;
    ActorBatches batches_;
    DueWork due_;
};

}  // namespace yantra
