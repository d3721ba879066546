#include "network/packet/simulator.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/vector.hpp"
#include "network/packet/options.hpp"

namespace yantra::packet {

namespace {

constexpr u64 frame_bytes = 31;   // of a pause
constexpr u64 most_bytes = 65535;   // of a packet
constexpr u32 plain_header = 36;    // without what a congestion control adds
constexpr u64 no_end = u64{1} << 62;

// Whether switches may drop. With pauses none does: each port has head room for what comes after it asked for one.
bool may_lose(const Settings& settings) {
    return !settings.pauses || settings.has(Quirk::headroom_wraps) || settings.has(Quirk::thin_headroom);
}

}  // namespace

Simulator::Simulator(const FabricSpec& fabric, const Settings& settings, Observer& observer)
    : settings_(settings),
      observer_(observer),
      seen_(std::make_shared<Seen>(settings_)),
      senders_(settings_),
      is_host_(fabric.is_host) {
    senders_.seen = seen_.get();
    check_scheme(settings_);
    can_lose_ = may_lose(settings_);
    scheme_ = find_scheme(settings_.congestion_control);
    if (settings_.payload_bytes == 0 || settings_.payload_bytes + 1000 > most_bytes) {
        throw std::invalid_argument("a payload of 1 to 64,000 bytes is expected, not " +
                                    std::to_string(settings_.payload_bytes));
    }
    control_ = scheme_->make(senders_);
    const u32 added = control_->header_bytes(telemetry_hops_);
    data_header_ += added;
    ack_bytes_ = 2 + std::max<u32>(46, 32 + added);
    add_ports(fabric);
    add_queues();
    add_buffers(fabric);
    senders_.wake_timers.assign(ports_.size(), none);
    senders_.wake_ticks.assign(ports_.size(), 0);
    senders_.ready.resize(ports_.size());
}

Simulator::~Simulator() = default;

void Simulator::add_ports(const FabricSpec& fabric) {
    ports_of_.resize(fabric.is_host.size());
    for (u32 link = 0; link < fabric.links.size(); ++link) {
        const LinkSpec& spec = fabric.links[link];
        Port port;
        port.from = spec.from;
        port.to = spec.to;
        port.twin = spec.twin;
        port.delay = spec.delay;
        port.bits_per_s = spec.bits_per_s;
        port.is_host = fabric.is_host[spec.from];
        port.by_formula = spec.by_formula;
        port.of_rate = spec.by_formula ? table_of(0) : table_of(spec.bits_per_s);
        const MarkLimits limits = settings_.limits_of(spec.bits_per_s);
        const bool marks = settings_.marks && !settings_.limits.empty() && !spec.by_formula;
        port.kmin = marks ? static_cast<u64>(limits.kmin_bytes) : ~u64{0};
        port.kmax = marks ? static_cast<u64>(limits.kmax_bytes) : ~u64{0};
        port.pmax = limits.pmax;
        if (port.is_host) {
            port.nic = static_cast<u32>(nics_.size());
            nics_.emplace_back();
        }
        ports_of_[spec.from].push_back(link);
        seen_->begin(port, link, 0);
        ports_.push_back(port);
        senders_.line_rates.push_back(port.bits_per_s);
        random_.emplace_back(settings_.seed, u64{0x7061636b6574}, link);
    }
}

// A plain list needs no object.
void Simulator::add_queues() {
    if (settings_.queue == "fifo") {
        return;
    }
    const Discipline* discipline = find_discipline(settings_.queue);
    queues_.resize(ports_.size());
    for (u32 link = 0; link < ports_.size(); ++link) {
        if (!ports_[link].is_host) {
            queues_[link] = discipline->make(packets_, settings_);
        }
    }
}

// Rate 0 is that of links by formula: packets take no time on them.
u32 Simulator::table_of(u64 bits_per_s) {
    for (u32 table = 0; table < tables_.size(); ++table) {
        if (table_rates_[table] == bits_per_s) {
            return table;
        }
    }
    Vector<u32> ticks(settings_.payload_bytes + std::size_t{600});
    for (std::size_t bytes = 0; bits_per_s > 0 && bytes < ticks.size(); ++bytes) {
        const u64 exact = senders_.transmission.ticks(bytes, bits_per_s);
        if (exact >= none) {
            throw std::invalid_argument("a link of " + std::to_string(bits_per_s) +
                                        " bit/s takes longer than 4 ms for a packet; take a faster one");
        }
        ticks[bytes] = static_cast<u32>(exact);
    }
    tables_.push_back(std::move(ticks));
    table_rates_.push_back(bits_per_s);
    return static_cast<u32>(tables_.size() - 1);
}

// The head room of a port takes what is under way when it tells its neighbour to pause.
void Simulator::add_buffers(const FabricSpec& fabric) {
    buffers_.resize(fabric.is_host.size());
    Vector<Vector<u32>> incoming(fabric.is_host.size());
    for (u32 link = 0; link < ports_.size(); ++link) {
        incoming[ports_[link].to].push_back(link);
    }
    for (u32 device = 0; device < buffers_.size(); ++device) {
        if (!incoming[device].empty()) {
            add_buffer(fabric, device, incoming[device]);
        }
    }
}

void Simulator::add_buffer(const FabricSpec& fabric, u32 device, const Vector<u32>& incoming) {
    const u64 own = fabric.buffer_bytes.empty() ? 0 : fabric.buffer_bytes[device];
    const u64 buffer = own == 0 ? settings_.buffer_bytes : own;
    u64 nic_rate = 0;   // of the first host: the shift of alpha counts from it
    for (const Port& port : ports_) {
        if (port.is_host) {
            nic_rate = port.bits_per_s;
            break;
        }
    }
    const bool is_thin = settings_.has(Quirk::thin_headroom);
    u64 needed = 0;
    for (u32 link : incoming) {
        Port& port = ports_[link];
        port.threshold_shift = 3;
        for (u64 rate = port.bits_per_s; rate > nic_rate && port.threshold_shift > 0; rate /= 2) {
            --port.threshold_shift;
        }
        const auto bits = static_cast<unsigned __int128>(port.bits_per_s) * port.delay;
        const u64 flight = static_cast<u64>(bits / 8 / (u64{1000000000} * senders_.ticks_per_ns));
        // Twice the flight of a bit, a packet under way at either end, and the frame itself.
        if (port.by_formula && settings_.pauses) {
            port.headroom = no_end;   // more may be under way than a link holds
            needed += reserve_bytes;
            continue;
        }
        port.headroom = is_thin ? 3 * flight : 3 * flight + 2 * (u64{settings_.payload_bytes} + data_header_) + frame_bytes;
        needed += port.headroom + reserve_bytes;
    }
    SharedBuffer& made = buffers_[device];
    made.ports = static_cast<u32>(incoming.size());
    made.wraps = settings_.has(Quirk::headroom_wraps);
    if (!made.wraps && !is_host_[device]) {
        check_buffer(fabric.name(device), made.ports, buffer, needed);
    }
    made.sharable = made.wraps ? static_cast<u32>(buffer - needed) : std::max(buffer, needed) - needed;
}

void Simulator::check_buffer(const std::string& name, u32 ports, u64 buffer, u64 needed) const {
    if (settings_.pauses && buffer <= needed) {
        throw std::invalid_argument(
            name + " has a buffer of " + std::to_string(buffer) + " bytes, and its " + std::to_string(ports) +
            " ports need " + std::to_string(needed) +
            " for head room alone, so PFC could never act; give it a buffer of more than " + std::to_string(needed) +
            " bytes, or turn PFC off");
    }
}

u32 Simulator::add_route(std::span<const u32> links) {
    const u32 at = static_cast<u32>(routes_.size());
    routes_.insert(routes_.end(), links.begin(), links.end());
    routes_.push_back(none);
    most_links_ = std::max(most_links_, static_cast<u32>(links.size()));
    if (scheme_->telemetry == TelemetryKind::hops && !settings_.has(Quirk::narrow_telemetry) &&
        most_links_ > telemetry_hops_ + 1) {
        HugeVector<Telemetry> wider(std::size_t{packets_made_} * (most_links_ - 1));
        for (u32 packet = 0; packet < packets_made_; ++packet) {
            std::copy_n(telemetry_.begin() + std::size_t{packet} * telemetry_hops_, telemetry_hops_,
                        wider.begin() + std::size_t{packet} * (most_links_ - 1));
        }
        telemetry_ = std::move(wider);
        telemetry_hops_ = most_links_ - 1;
        const u32 added = control_->header_bytes(telemetry_hops_);
        data_header_ = 36 + added;
        ack_bytes_ = 2 + std::max<u32>(46, 32 + added);
    }
    largest_rtt_ = std::max(largest_rtt_, base_rtt(at));
    largest_window_ = std::max(largest_window_, window_of(at));
    return at;
}

std::span<const u32> Simulator::route(u32 number) const {
    std::size_t links = 0;
    while (routes_[number + links] != none) {
        ++links;
    }
    return {routes_.data() + number, links};
}

u32 Simulator::add_ways(std::span<const u32> routes) {
    if (settings_.recovery != Recovery::selective_repeat) {
        throw std::invalid_argument(
            std::string("packets of one message would overtake each other by this routing, and ") +
            (settings_.recovery == Recovery::go_back_n ? "the recovery go_back_n takes them in order alone"
                                                       : "TCP takes that for losses") +
            "; take recovery selective_repeat with reordering, the preset uec, or the routing ecmp");
    }
    if (scheme_->telemetry >= TelemetryKind::hops) {
        throw std::invalid_argument(scheme_->name + " reads what the switches of one way say, and this routing has "
                                    "many; take another congestion control, or the routing ecmp");
    }
    const u32 first = static_cast<u32>(ways_.size());
    ways_.insert(ways_.end(), routes.begin(), routes.end());
    return first;
}

u64 Simulator::latency(u32 route) const {
    u64 ticks = 0;
    for (u32 at = route; routes_[at] != none; ++at) {
        ticks += ports_[routes_[at]].delay;
    }
    return ticks;
}

u64 Simulator::base_rtt(u32 route) const {
    u64 delay = 0;
    u64 sending = 0;
    for (u32 at = route; routes_[at] != none; ++at) {
        const Port& port = ports_[routes_[at]];
        delay += port.delay;
        if (!port.by_formula) {
            sending += static_cast<u64>(static_cast<unsigned __int128>(settings_.payload_bytes) * 8 * 1000000000u *
                                        senders_.ticks_per_ns / port.bits_per_s);
        }
    }
    return 2 * delay + sending;
}

u64 Simulator::window_of(u32 route) const {
    u64 slowest = ~u64{0};
    for (u32 at = route; routes_[at] != none; ++at) {
        slowest = std::min(slowest, ports_[routes_[at]].bits_per_s);
    }
    const auto bits = static_cast<unsigned __int128>(base_rtt(route)) * slowest;
    return static_cast<u64>(bits / (u64{1000000000} * senders_.ticks_per_ns) / 8);
}

// Two events lie between "send" and the first packet, as an application is made and started: they decide which of
// the flows that start in the same tick comes first.
void Simulator::send(const FlowSpec& flow, u64 tick) {
    FlowSpec sent = flow;
    if (seen_->looks()) {
        SeenFlow row{flow.source, flow.destination, flow.bytes, tick};
        row.alone = alone(flow);
        sent.seen = seen_->begin(row);
    }
    busy_at_end_.clear();
    senders_.wheel.schedule(tick, event(EventKind::begins, waiting_.take(sent)));
    ++unfinished_;
}

// A packet on each link and the others behind it on the narrowest, with the headers that all have.
u64 Simulator::alone(const FlowSpec& flow) const {
    const u64 payload = settings_.payload_bytes;
    const u64 full = flow.bytes / payload;
    const u64 last = flow.bytes % payload;
    const u64 first = (full > 0 ? payload : last) + plain_header;
    u64 ticks = 0;
    u64 narrowest = ~u64{0};
    for (u32 at = flow.data_route; routes_[at] != none; ++at) {
        const Port& port = ports_[routes_[at]];
        ticks += port.delay + (port.by_formula ? 0 : senders_.transmission.ticks(first, port.bits_per_s));
        narrowest = std::min(narrowest, port.bits_per_s);
    }
    if (full > 1) {
        ticks += (full - 1) * senders_.transmission.ticks(payload + plain_header, narrowest);
    }
    return ticks + (full > 0 && last > 0 ? senders_.transmission.ticks(last + plain_header, narrowest) : 0);
}

std::shared_ptr<const Seen> Simulator::seen() {
    seen_->update(ports_, totals_, now(), busy_at_end_);
    return seen_;
}

void Simulator::start(u32 number) {
    const FlowSpec spec = waiting_[number];
    waiting_.give_back(number);
    const u32 made = senders_.add();
    Sender& sender = senders_[made];
    sender.size = sender.whole = spec.bytes;
    sender.flow = spec.flow;
    sender.seen = spec.seen;
    sender.order = spec.order;
    set_ways(sender, spec);
    if (sender.is_sprayed) {
        senders_.board(sender).turn = sender.serial * 7919u;   // so messages do not take turns in step
    }
    sender.port = routes_[spec.data_route];
    sender.rate = ports_[sender.port].bits_per_s;
    sender.line_rate = sender.rate;
    sender.base_rtt = settings_.one_window ? largest_rtt_ : base_rtt(spec.data_route);
    sender.window = !settings_.has_window ? 0 : settings_.one_window ? largest_window_ : window_of(spec.data_route);
    if (settings_.base_rtt_ns > 0.0) {
        sender.base_rtt = senders_.ticks(settings_.base_rtt_ns);
    }
    if (settings_.has_window && settings_.window_bytes > 0) {
        sender.window = settings_.window_bytes;
    }
    sender.window_now = sender.window;
    sender.priority = sender.size <= settings_.short_message ? 0 : 1;
    sender.next_available = now();
    if (active_++ == 0) {
        last_progress_ = now();
        drops_at_progress_ = totals_.drops;
    }
    seen_->begin(sender, now());
    if (settings_.sweep_every_ns > 0.0 && !sweeps_) {
        begin_sweeps();
    }
    control_->begin(made);
    if (scheme_->connects) {
        connect(made);
        return;
    }
    nics_[ports_[sender.port].nic].add(senders_, made);
    transmit(senders_[made].port);
}

// A packet to be filled in. Where flows and packets fill more than the cache next to a core, what events will read is
// fetched ahead: without it all pairs of 128 hosts take 1.5 times as long, and with it a permutation of 16 takes 1.14
// times.
u32 Simulator::take_packet() {
    constexpr std::size_t cached_bytes = std::size_t{1} << 20;
    const u32 made = packets_.take_as_left();
    if (made >= packets_made_) [[unlikely]] {
        packets_made_ = made + 1;
        if (scheme_->telemetry == TelemetryKind::hops) {
            telemetry_.resize(std::size_t{packets_made_} * telemetry_hops_);
        }
        fetches_ = packets_made_ * sizeof(Packet) + senders_.count() * sizeof(Sender) > cached_bytes;
    }
    return made;
}

// What an event will read is asked for before its time: a packet or port some ns ahead, and by then what they name.
// All is inlined, and asking has an effect in the eyes of GCC, which else takes what only asks for a function without
// any and leaves its calls out.
struct Simulator::Ahead {
    const Simulator& all;

    [[gnu::always_inline]] static void fetch(const void* of) {
        __builtin_prefetch(of, 1);
        asm volatile("");
    }
    [[gnu::always_inline]] static void fetch_lines(const void* of) {
        fetch(of);
        fetch(static_cast<const char*>(of) + 64);
    }

    [[gnu::always_inline]] void is_far(u32 what) const {
        const u32 index = what & event_index;
        if (what >> event_index_bits == static_cast<u32>(EventKind::arrived)) {
            fetch(&all.packets_[index]);
        } else if (what >> event_index_bits == static_cast<u32>(EventKind::sent)) {
            fetch_lines(&all.ports_[index]);
        }
    }
    [[gnu::always_inline]] void is_near(u32 what) const {
        const u32 index = what & event_index;
        if (what >> event_index_bits == static_cast<u32>(EventKind::arrived)) {
            fetch_for_arrival(all.packets_[index]);
        } else if (what >> event_index_bits == static_cast<u32>(EventKind::sent)) {
            fetch_for_next(index);
        }
    }

    [[gnu::always_inline]] void fetch_for_arrival(const Packet& packet) const {
        if (packet.ahead[0] != none || packet.sender == none) {
            return;   // it goes on, or is of a port
        }
        const Sender& sender = all.senders_[packet.sender];
        if (packet.kind == PacketKind::data) {
            fetch(&sender.expected);
        } else {
            fetch_lines(&sender);
        }
    }
    // Who the port sends next: what waits, or a flow of its host.
    [[gnu::always_inline]] void fetch_for_next(u32 number) const {
        const Port& port = all.ports_[number];
        if (port.waits.first != none) {
            fetch(&all.packets_[port.waits.first]);
        } else if (port.is_host) {
            const u32 sender = all.nics_[port.nic].likely_next(all.senders_.ready[number]);
            if (sender != none) {
                fetch_lines(&all.senders_[sender]);
            }
        }
    }
};

// Of events of one tick, packets go on in the order of their messages. As quirks have it, all go in that of scheduling.
inline u32 Simulator::next_event() {
    if (at_once_done_ < at_once_.size()) [[unlikely]] {
        return at_once_[at_once_done_++];
    }
    const u32 what = fetches_ ? senders_.wheel.next(Ahead{*this}) : senders_.wheel.next();
    return settings_.quirks == 0 && senders_.wheel.has_more_now() ? first_of_tick(what) : what;
}

void Simulator::step() {
    const u32 what = next_event();
    const u32 index = what & event_index;
    switch (static_cast<EventKind>(what >> event_index_bits)) {
        case EventKind::sent:
            ports_[index].is_busy = false;
            transmit(index);
            break;
        case EventKind::arrived: arrive(index); break;
        case EventKind::timer: fire(index); break;
        case EventKind::begins: senders_.wheel.schedule(now(), event(EventKind::created, index)); break;
        case EventKind::created: senders_.wheel.schedule(now(), event(EventKind::starts, index)); break;
        case EventKind::starts: start(index); break;
        case EventKind::samples: note_sample(); break;
        case EventKind::sweeps: sweep(); break;
    }
}

void Simulator::sample(u32 link, u64 every, Vector<u64>& into) {
    sampled_ = link;
    sample_every_ = every;
    samples_ = &into;
    senders_.wheel.schedule(now() + every, event(EventKind::samples, 0));
}

void Simulator::note_sample() {
    if (unfinished_ > 0) {
        samples_->push_back(ports_[sampled_].queue_bytes);
        senders_.wheel.schedule(now() + sample_every_, event(EventKind::samples, 0));
    }
}

// Sweeps are at multiples of their interval from the first on, and rest while nothing is under way.
void Simulator::begin_sweeps() {
    const u64 every = std::max<u64>(1, senders_.ticks(settings_.sweep_every_ns));
    const u64 from = senders_.ticks(settings_.sweep_from_ns);
    const u64 at = now() <= from ? from : from + ((now() - from) / every + 1) * every;
    senders_.wheel.schedule(at, event(EventKind::sweeps, 0));
    sweeps_ = true;
}

// What waits in a queue of a switch, without control frames: a look among the other events of its tick, as the monitor
// of the ns-3 fork takes it.
void Simulator::sweep() {
    constexpr u64 least_bytes = 1000;
    bool is_idle = active_ == 0;
    for (u32 link = 0; link < ports_.size(); ++link) {
        const Port& port = ports_[link];
        is_idle = is_idle && port.data_bytes == 0;
        if (port.data_bytes >= least_bytes && !is_host_[port.from]) {
            seen_->swept(link, port.data_bytes, now());
        }
    }
    sweeps_ = !is_idle && !senders_.wheel.empty();
    if (sweeps_) {
        senders_.wheel.schedule(now() + std::max<u64>(1, senders_.ticks(settings_.sweep_every_ns)),
                                event(EventKind::sweeps, 0));
    }
}

void Simulator::fire(u32 number) {
    Timer timer;
    if (!senders_.take_timer(number, timer)) {
        return;
    }
    switch (timer.kind) {
        case TimerKind::nic:
            senders_.wake_timers[timer.index] = none;
            transmit(timer.index);
            break;
        case TimerKind::pause_ends: end_pause(timer.index); break;
        case TimerKind::retransmits: time_out(timer.index); break;
        case TimerKind::of_scheme: control_->timer(timer.index, timer.own); break;
    }
}

}  // namespace yantra::packet
