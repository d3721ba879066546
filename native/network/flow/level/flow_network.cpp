#include "network/flow/level/flow_network.hpp"

#include <algorithm>

#include "base/ensure.hpp"
#include "network/level.hpp"

namespace yantra {

namespace {

constexpr double default_parts = 16.0;
constexpr u32 most_parts = 4096;

std::unique_ptr<NetworkModel> flow_over(const NetworkSetup& setup, std::unique_ptr<Ways> ways) {
    const double parts = setup.parameters.choice.option("parts", default_parts);
    const flow::Options options{setup.parameters.choice.option("rtt_fairness", 0.0) != 0.0,
                                static_cast<u32>(std::min(parts, double{most_parts})),
                                setup.parameters.choice.option("in_order", 0.0) != 0.0};
    return std::make_unique<FlowNetwork>(setup, std::move(ways), options);
}

const RegisteredNetwork registered_flow({
    .name = "flow",
    .help = "messages share every link of their way max-min fairly; over dimensions or a fabric",
    .make = [](const NetworkSetup& setup) {
        return flow_over(setup, std::make_unique<Ways>(setup.parameters, setup.grid));
    },
    .make_over = flow_over,
    .folding = NetworkFolding::shares_links,
    .traits = {NetworkTrait::charges_latency, NetworkTrait::has_links, NetworkTrait::on_fabric,
               NetworkTrait::links_change, NetworkTrait::takes_background, NetworkTrait::takes_tiers},
    .detail = 3,
    .flow_lists = FlowLists::shared,
    .options = {{"rtt_fairness", "", 0.0, 0.0, "1: shares in proportion to 1 / round trip, 0: equal shares"},
                {"in_order", "", 0.0, 0.0,
                 "1: all messages between two ranks follow each other, as over one connection; 0: those of a collective"},
                {"parts", "", default_parts, 1.0,
                 "of a message, each on its way, where the routing goes by packets; at most 4096"}},
});

}  // namespace

FlowNetwork::FlowNetwork(const NetworkSetup& setup, std::unique_ptr<Ways> ways, const flow::Options& options)
    : all_(setup, std::move(ways), options),
      lines_(all_),
      departures_(all_),
      flows_(all_, lines_, departures_, holds_, faults_),
      holds_(all_, flows_, lines_),
      faults_(all_, flows_, setup),
      background_(all_, flows_, setup) {}

void FlowNetwork::send(const Message& message, Notice arrived, Notice departed) {
    ensure(message.src != message.dst, "a message to its own sender");
    ++all_.under_way;
    faults_.catch_up();
    background_.wake();
    const flow::TransitId number = all_.transits.take();
    flow::Transit& transit = all_.transits[number];
    transit.parts_left = flows_.parts_of(message.bytes);
    transit.arrived = arrived;
    transit.departed = departed;
    transit.is_asking = !departed.kind.is_none();
    all_.probe.sent(number.index());
    const flow::Alone alone = flows_.send(number, all_.ways->place(message.src), all_.ways->place(message.dst),
                                          message.bytes, message.order);
    all_.probe.takes(all_.clock.ticks(alone.latency_ns));
    if (!departed.kind.is_none()) {
        all_.clock.schedule(all_.clock.now() + all_.clock.ticks(alone.transfer_ns), flow::Kind::leaves, number.index());
    }
}

void FlowNetwork::handle(const Event& event) {
    background_.stop_with_work();
    switch (static_cast<flow::Kind>(event.kind.kind())) {
        case flow::Kind::enters: flows_.comes(flow::PartId(event.index)); return;
        case flow::Kind::leaves: departures_.ask(flow::TransitId(event.index)); return;
        case flow::Kind::ends: flows_.wake(event.index); return;
        case flow::Kind::settles: flows_.settle(); return;
        case flow::Kind::changes: faults_.change_links(); return;
        case flow::Kind::reroutes: faults_.reroute(); return;
        case flow::Kind::formula: flows_.is_through(flow::PartId(event.index)); return;
        case flow::Kind::background: background_.start(); return;
    }
}

}  // namespace yantra
