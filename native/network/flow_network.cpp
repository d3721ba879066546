#include "network/flow_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/ensure.hpp"
#include "base/interruption.hpp"
#include "base/vector.hpp"
#include "network/level.hpp"

namespace yantra {

namespace {

constexpr double default_parts = 16.0;
constexpr u32 most_parts = 4096;
// Times that are whole or half ticks must not fall either way by rounding: rounding is shifted by
// this.
constexpr double nudge_ticks = 1.0 / 1024.0;
// The sender asks again after ends this close: rates are about to change.
constexpr double at_once_ns = 2.0 / 1000.0;

std::unique_ptr<NetworkModel> flow_over(const NetworkSetup& setup, std::unique_ptr<Ways> ways) {
    const double parts = setup.parameters.choice.option("parts", default_parts);
    const FlowNetwork::Options options{setup.parameters.choice.option("rtt_fairness", 0.0) != 0.0,
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

Vector<double> rates_of(const Ways& ways) {
    Vector<double> rates(ways.links());
    for (u32 link = 0; link < rates.size(); ++link) {
        const double rate = ways.bytes_per_ns(link);
        rates[link] = std::isfinite(rate) ? rate : 0.0;   // no flow shares a link without limit
    }
    return rates;
}

}  // namespace

FlowNetwork::FlowNetwork(const NetworkSetup& setup, std::unique_ptr<Ways> ways, Options options)
    : changes_(setup.parameters.link_changes),
      background_(setup.parameters.background),
      formula_groups_(setup.parameters.formula_groups),
      reroute_delay_(setup.parameters.reroute_delay),
      ways_(std::move(ways)),
      scale_(setup.semantics.scale),
      ticks_per_ns_(static_cast<double>(setup.semantics.scale.ticks_per_ns())),
      nudge_ns_(nudge_ticks / ticks_per_ns_),
      queue_(setup.engine.queue),
      engine_(setup.engine),
      options_(options),
      sharing_(rates_of(*ways_)),
      probe_(setup.engine.recorder()),
      uses_{Vector<LinkUse>(ways_->links()), Vector<double>(ways_->links())},
      flows_over_(ways_->links()),
      busy_since_(ways_->links()),
      sent_over_(ways_->links()),
      is_parted_(ways_->by_packet() && !ways_->divides()),
      is_over_classes_(ways_->class_of() != nullptr),
      under_way_over_(is_over_classes_ ? ways_->links() : 0),
      held_(under_way_over_.size()),
      next_end_ns_(no_end_ns) {
    probe_.keeps(ways_->links(), ways_->groups(), [this](u32 link) { return ways_->group(link); });
    probe_.stand_for(ways_->class_of());
    sharing_.note_in(probe_.shared(ways_->links()));
    if (!changes_.empty()) {
        is_down_.resize(ways_->links());
        is_avoided_.resize(ways_->links());
    }
    if (!changes_.empty()) {
        queue_.schedule(changes_.front().tick, {Owner::network, changes}, 0);
    }
    schedule_background();
}

void FlowNetwork::send(const Message& message, Notice arrived, Notice departed) {
    ensure(message.src != message.dst, "a message to its own sender");
    if (is_resting_) [[unlikely]] {
        catch_up();
    }
    ++under_way_;
    if (background_rests_) [[unlikely]] {
        schedule_background();
    }
    const u32 number = transits_.take();
    transits_[number] = {none, parts_of(message.bytes), arrived, departed, !departed.kind.is_none(), false};
    probe_.sent(number);
    const Alone alone = send_parts(number, ways_->place(message.src), ways_->place(message.dst), message.bytes,
                                   message.order);
    probe_.takes(scale_.ticks(alone.latency_ns));
    if (!departed.kind.is_none()) {
        queue_.schedule(queue_.now() + scale_.ticks(alone.transfer_ns), {Owner::network, leaves}, number);
    }
}

u32 FlowNetwork::parts_of(u64 bytes) const {
    return is_parted_ ? static_cast<u32>(std::min<u64>(options_.parts, std::max<u64>(bytes, 1))) : 1;
}

FlowNetwork::Alone FlowNetwork::send_parts(u32 transit, u32 from, u32 to, u64 bytes, u64 order) {
    const u32 parts = transits_[transit].parts_left;
    Alone alone;
    for (u32 packet = 0; packet < parts; ++packet) {
        Part part;
        part.transit = transit;
        part.from = from;
        part.to = to;
        part.packet = packet;
        part.route = route_of(from, to, packet);
        part.bytes = bytes / parts + (packet < bytes % parts ? 1 : 0);
        part.order = order;
        const Route& route = routes_[part.route];
        alone.transfer_ns = std::max(alone.transfer_ns, static_cast<double>(part.bytes) / route.bytes_per_ns);
        alone.latency_ns = std::max(alone.latency_ns, known_ways_.latency_ns(part.route));
        send_part(part);
    }
    return alone;
}

void FlowNetwork::send_part(const Part& sent) {
    if (is_over_classes_) {
        meet(sent.route);
    }
    const u32 number = parts_.take(sent);
    parts_made_ = std::max(parts_made_, number + 1);
    Part& part = parts_[number];
    part.next = std::exchange(transits_[sent.transit].first_part, number);
    part.enters_ns = now_ns() + known_ways_.latency_ns(part.route);
    carry(part.route, static_cast<i64>(part.bytes), 1, uses_);
    count_sent(part, true);
    note_under_way(part.route, 1);
    queue_.schedule(tick_of(part.enters_ns), {Owner::network, enters}, number);
}

void FlowNetwork::handle(const Event& event) {
    if (!background_.empty() && !background_is_over_ && engine_.done_at) {
        if (const std::optional<u64> tick = engine_.done_at()) {
            stop_background(*tick);
        }
    }
    switch (static_cast<Kind>(event.kind.kind())) {
        case enters:
            if (!parts_[event.index].is_over) {
                entering_.push_back(event.index);
                settle_later();
            }
            return;
        case leaves:
            ask(event.index);
            return;
        case ends:
            if (event.index == wake_) {
                settle_later();
            }
            return;
        case settles:
            is_settling_ = false;
            settle();
            return;
        case changes:
            change_links();
            return;
        case reroutes:
            reroute();
            return;
        case formula:
            if (!parts_[event.index].is_over) {
                busy(parts_[event.index].route, -1, queue_.now());
                arrive(event.index);
            }
            return;
        case background:
            start_background();
            return;
    }
}

// One solve for all entries of a tick.
void FlowNetwork::enter_all() {
    if (entering_.empty()) {
        return;
    }
    double start_ns = no_end_ns;
    for (u32 part : entering_) {
        start_ns = std::min(start_ns, parts_[part].enters_ns);
    }
    end(start_ns);
    start_ns = std::max(start_ns, sharing_.now_ns());
    if (entering_.size() > 1) {
        std::ranges::stable_sort(entering_, {}, [this](u32 part) { return parts_[part].order; });
    }
    for (u32 part : entering_) {
        look_up();
        enter(part, start_ns);
    }
    entering_.clear();
}

void FlowNetwork::enter(u32 number, double start_ns) {
    if (!follows(parts_[number]) || parts_[number].is_in_line || !waits_in_line(number)) {
        begin(number, start_ns);
    }
}

void FlowNetwork::begin(u32 number, double start_ns) {
    Part& part = parts_[number];
    part.entered = queue_.now();
    if (is_cut(part.route)) {
        take_another_way(number);
    }
    const Route& route = routes_[part.route];
    if (part.bytes > 0 && route.of_class == none && std::isfinite(route.bytes_per_ns)) {
        part.by_formula = true;
        busy(part.route, 1, queue_.now());
        const double ends_ns = part.enters_ns + static_cast<double>(part.bytes) / route.bytes_per_ns;
        queue_.schedule(tick_of(ends_ns), {Owner::network, formula}, number);
        return;
    }
    const u32 of_class = route.of_class;
    if (part.bytes == 0 || of_class == none) {
        arrive(number);
        return;
    }
    is_flow(number, sharing_.start(of_class, static_cast<double>(part.bytes), start_ns));
    if (!is_down_.empty()) {
        watch(number);
    }
}

void FlowNetwork::is_flow(u32 number, u32 flow) {
    parts_[number].flow = flow;
    if (part_of_.size() <= flow) {
        part_of_.resize(flow + std::size_t{1}, none);
    }
    part_of_[flow] = number;
    busy(parts_[number].route, 1, queue_.now());
}

void FlowNetwork::end(double until_ns) {
    while (sharing_.next_end_ns() <= until_ns) {
        ended_.clear();
        sharing_.end_next(ended_);
        for (u32 flow : ended_) {
            busy(parts_[part_of_[flow]].route, -1, queue_.now());
            arrive(part_of_[flow]);
        }
    }
}

void FlowNetwork::arrive(u32 number) {
    parts_[number].is_over = true;
    parts_[number].flow = none;
    note_carried(number, parts_[number].bytes, queue_.now());
    count_sent(parts_[number], false);
    if (parts_[number].is_in_line) {
        next_in_line(number);
    }
    note_under_way(parts_[number].route, -1);
    const u32 transit_number = parts_[number].transit;
    Transit& transit = transits_[transit_number];
    if (--transit.parts_left > 0) {
        return;
    }
    for (u32 part = transit.first_part; part != none;) {
        const u32 next = parts_[part].next;
        parts_.give_back(part);
        part = next;
    }
    transit.first_part = none;
    const Notice arrived = transit.arrived;
    --under_way_;
    if (is_background(transit)) {
        transits_.give_back(transit_number);
        return;
    }
    probe_.arrives(transit_number);
    transit.has_arrived = true;
    depart(transit);
    if (!transit.is_asking) {
        transits_.give_back(transit_number);
    }
    queue_.schedule(queue_.now(), arrived);
    probe_.arrival_scheduled();
}

void FlowNetwork::depart(Transit& transit) {
    if (transit.departed.kind.is_none()) {
        return;
    }
    queue_.schedule(queue_.now(), transit.departed);
    transit.departed = {};
    for (u32 at = transit.first_part; at != none; at = parts_[at].next) {
        count_sent(parts_[at], false);
    }
}

void FlowNetwork::ask(u32 number) {
    Transit& transit = transits_[number];
    if (transit.has_arrived) {
        transits_.give_back(number);
        return;
    }
    asking_.push_back(number);
    settle_later();
}

void FlowNetwork::answer(u32 number) {
    Transit& transit = transits_[number];
    transit.is_asking = false;
    if (transit.has_arrived) {
        transits_.give_back(number);
        return;
    }
    double leaves_ns = 0.0;
    for (u32 at = transit.first_part; at != none; at = parts_[at].next) {
        leaves_ns = std::max(leaves_ns, this->leaves_ns(parts_[at]));
    }
    if (leaves_ns <= now_ns() + 1.0 / ticks_per_ns_) {
        probe_.arrives(number);   // it is the sender's doing, too
        depart(transit);
        probe_.arrival_scheduled();
    } else if (std::isfinite(leaves_ns)) {   // else when it arrives, or asks again when it begins
        transit.is_asking = true;
        if (sharing_.next_end_ns() <= now_ns() + at_once_ns) {   // which without rounding would come before
                                                                 // the question
            leaves_ns = std::min(leaves_ns, now_ns() + at_once_ns);
        }
        queue_.schedule(tick_of(leaves_ns), {Owner::network, leaves}, number);
    }
}

// An estimate: until its flow begins, a latency after sending, links count as shared evenly by all
// sent over them, so that senders do not run ahead of receivers.
double FlowNetwork::leaves_ns(const Part& part) {
    const Route& route = routes_[part.route];
    if (part.is_over || part.by_formula || part.bytes == 0) {
        return 0.0;
    }
    if (part.flow != none) {
        return sharing_.end_ns(part.flow) - known_ways_.latency_ns(part.route);
    }
    if (part.enters_ns <= now_ns() && !part.is_in_line) {
        return follows(part) ? no_end_ns : 0.0;   // it waits for others, or comes in this tick
    }
    double ns_per_byte = 1.0 / route.bytes_per_ns;
    const double sent_ns = part.enters_ns - known_ways_.latency_ns(part.route);
    if (part.is_in_line) {   // it begins in this tick, so has not left; the next one knows more
        return std::max(sent_ns + static_cast<double>(part.bytes) * ns_per_byte, now_ns() + 2.0 / ticks_per_ns_);
    }
    for (u32 link : known_ways_.links(part.route)) {
        ns_per_byte = std::max(ns_per_byte, sent_over_[link] / ways_->bytes_per_ns(link));
    }
    return std::min(sent_ns + static_cast<double>(part.bytes) * ns_per_byte, part.enters_ns);   // when it is known
}

// Once a tick, after all its changes.
void FlowNetwork::settle_later() {
    if (!is_settling_) {
        is_settling_ = true;
        queue_.schedule(queue_.now(), {Owner::network, settles}, 0);
    }
}

void FlowNetwork::settle() {
    enter_all();
    while (sharing_.next_end_ns() != no_end_ns && tick_of(sharing_.next_end_ns()) <= queue_.now()) {
        end(sharing_.next_end_ns());
    }
    for (u32 transit : asking_) {
        answer(transit);
    }
    asking_.clear();
    const double next_end_ns = sharing_.next_end_ns();
    if (next_end_ns != next_end_ns_) {
        next_end_ns_ = next_end_ns;
        ++wake_;
        if (next_end_ns != no_end_ns) {
            queue_.schedule(tick_of(next_end_ns), {Owner::network, ends}, wake_);
        }
    }
}

}  // namespace yantra
