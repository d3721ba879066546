#include "sim/simulation.hpp"

#include <algorithm>

#include "base/ensure.hpp"
#include "network/store_and_forward.hpp"
#include "network/analytical.hpp"
#include "sim/skipping.hpp"

namespace yantra {

namespace {

std::unique_ptr<NetworkModel> make_network(const Model& model, const Grid& grid, EventQueue& queue) {
    switch (model.network) {
        case NetworkKind::analytical:
            return std::make_unique<AnalyticalNetwork>(grid, model.scale, queue,
                                                    model.quirks.lowest_dimension_only);
        case NetworkKind::store_and_forward:
            return std::make_unique<StoreAndForwardNetwork>(grid, model.scale, queue);
    }
    ensure(false, "unknown network model");
    return nullptr;
}

}  // namespace

Simulation::Simulation(const Model& model, bool match_by_tag,
                       std::shared_ptr<const Folding> folding, bool shortcuts)
    : model_(model),
      folding_(std::move(folding)),
      folded_(folding_ != nullptr),
      shortcuts_(folded_ && shortcuts && !recorded_run),
      grid_(model.dimensions, model.tables),
      local_(queue_,
             folding_ ? static_cast<u32>(folding_->representative.size()) : grid_.ranks(),
             event::local_batch),
      network_(make_network(model, grid_, queue_)),
      match_by_tag_(match_by_tag || model.match_by_tag),
      memory_(model.memory, grid_.ranks(), model.scale),
      ties_(folding_ ? static_cast<u32>(folding_->representative.size()) : 0),
      send_order_(folding_ ? static_cast<u32>(folding_->representative.size()) : 0) {
    if (folded_ && model.network == NetworkKind::store_and_forward) {
        keep_links_of_classes();
    }
    one_at_a_time_ = has_one_collective_at_a_time();
    ensure(model.job_of.size() == grid_.ranks(), "one job per rank");
    const SystemParameters& system = model.system;
    const u32 queues = system.queues_per_dimension;
    queue_threshold_ = (system.active_chunks + queues - 1) / queues;
    queues_per_lane_ = grid_.dimensions() * queues;
    const u32 lanes = *std::max_element(model.lanes.begin(), model.lanes.end()) + 1;
    const std::size_t circles = folded_ ? folding_->circles.size() : model.communicators.size();
    turns_.assign(circles, std::vector<Turns>(queues_per_lane_));
    ranks_.resize(folded_ ? folding_->representative.size() : grid_.ranks());
    u64 nodes = 0;
    for (u32 rank = 0; rank < ranks_.size(); ++rank) {
        Rank& r = ranks_[rank];
        r.job = &model.job(real(rank));
        if (const RankRules* const rules = model.rules[model.job_of[real(rank)]].get()) {
            r.tables = tables_of(*rules, real(rank));
        }
        const Graph& graph = *r.job->graph;
        r.waiting = graph.parent_count;
        r.ready = ReadySet(static_cast<u32>(model.resources.capacity.size()));
        r.occupied.resize(model.resources.capacity.size());
        r.queues.resize(lanes * queues_per_lane_);
        r.robin.resize(grid_.dimensions());
        for (RoundRobin& robin : r.robin) {
            robin.last = queues > 1 ? queues / 2 : 0;
        }
        r.streams.resize(circles);
        r.first_node = nodes;
        nodes += graph.size();
    }
    meeting_of_.resize(circles);
    start_.assign(nodes, never);
    end_.assign(nodes, never);
    finish_.assign(ranks_.size(), never);
    if (system.inter_dimension == InterDimension::themis ||
        system.inter_dimension == InterDimension::themis_flex) {
        themis_.emplace(grid_, system.inter_dimension == InterDimension::themis_flex);
    }
    if (system.bus.enabled) {
        buses_.resize(grid_.ranks());
    }
    if (shortcuts_) {
        skipping_ = std::make_unique<Skipping>(*this);
    }
}

u64 Simulation::nodes_skipped() const { return skipping_ ? skipping_->skipped() : 0; }

Simulation::~Simulation() = default;

void Simulation::start() {
    for (u32 rank = 0; rank < ranks_.size(); ++rank) {
        Rank& r = ranks_[rank];
        for (u32 node = 0; node < r.waiting.size(); ++node) {
            if (r.waiting[node] == 0) {
                const u8 slot = op_of(rank, node).resource;
                r.ready.insert(slot == unlimited ? static_cast<u32>(r.occupied.size()) : slot, node);
            }
        }
    }
    if constexpr (recorded_run) {
        record_start();
    }
    for (u32 rank = 0; rank < ranks_.size(); ++rank) {
        issue_ready(rank);
        finish_if_done(rank);
    }
}

bool Simulation::run_for(u64 events) {
    for (u64 i = 0; i < events; ++i) {
        if (queue_.empty() || (mismatch_ && model_.quirks.mismatched_collectives_meet)) {
            return true;
        }
        if (folded_) [[unlikely]] {
            if (mismatch_ || !ties_.found().empty()) {
                return true;
            }
            if (may_repeat()) {
                skipping_->look();
            }
            ties_.next_event();
        }
        handle(queue_.next());
    }
    return queue_.empty();
}

void Simulation::handle(const Event& event) {
    if constexpr (recorded_run) {
        record_event(event);
    }
    switch (event.kind & ((1u << event::kind_bits) - 1)) {
        case event::local_batch:
            local_.run(event.index,
                       [this](u32 rank, const LocalEvent& local) { handle_local(rank, local); });
            return;
        case event::arrival:
            arrive(event.index);
            return;
        case event::exchange_arrival:
            exchange_arrived(event.index, event.kind >> event::kind_bits);
            return;
        case event::exchange_ready:
            exchange_received(event.index);
            return;
        case event::exchange_early:
            exchange_arrived_early(event.index);
            return;
        case event::departed:
            departed(event.index);
            return;
        case event::receive_ready:
            receive_late(event.index);
            return;
        default:
            network_->on_event(event.kind, event.index);
    }
}

void Simulation::handle_local(u32 rank, const LocalEvent& event) {
    if constexpr (recorded_run) {
        record_local(rank, event);
    }
    if (folded_) [[unlikely]] {
        ties_.next_event();
    }
    switch (static_cast<Local>(event.kind)) {
        case hand_over_done:
            exchange_handed_over(event.a, event.b);
            return;
        case reduction_done:
            exchange_free(event.a);
            return;
        case graph_hand_over:
            graph_handed_over(event.a, event.b);
            return;
        case graph_local_done:
            graph_op_done(event.a, event.b);
            return;
        case custom_done:
            custom_node_done(event.a, event.b);
            return;
        case phase_done:
            proceed(event.a);
            return;
        case node_done:
            complete_node(rank, event.a);
            return;
        case server_free:
            free_server(event.a);
            return;
        case bus_sent:
            bus_sent_by(rank, event.a);
            return;
        case bus_received:
            bus_received_at(rank, event.a);
            return;
        case bus_processed:
            bus_processed_at(rank, event.a);
            return;
    }
}

Outcome Simulation::outcome() {
    Outcome out;
    out.finish = finish_;
    out.finish_order = finish_order_;
    if (folded_) {
        expand(out);
    } else {
        for (const Rank& r : ranks_) {
            out.compute_busy.push_back(r.compute_busy);
            out.first_node.push_back(r.first_node);
        }
    }
    out.first_node.push_back(start_.size());
    out.start = start_;
    out.end = end_;
    out.dimensions = network_->dimensions();
    out.busiest = network_->busiest();
    if (folded_links_ == nullptr) {
        out.links = network_->links();
    } else {
        out.links_on_demand = links_on_demand();
    }
    out.finished = finish_order_.size() == ranks_.size();
    if (!out.finished && !folded_) {
        out.waiting = diagnose();
    }
    out.unreceived = unreceived();
    out.events = queue_.processed();
    out.messages = message_count_;
    add_closed(out);
    out.last_tick = queue_.now();
    return out;
}

}  // namespace yantra
