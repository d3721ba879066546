#include "network/packet/credits.hpp"

#include <algorithm>

#include "network/packet/hosts.hpp"

namespace yantra::packet {

namespace {

constexpr u64 bytes_of_none = 1024;   // that a grant of nothing lasts for

}  // namespace

Credits::Credits(Common& all, Hosts& hosts)
    : all_(all), hosts_(hosts), wanting_(all.ports.all().size(), 0), ports_(all.ports.all().size()) {}

void Credits::begin(SenderId number) {
    if (!flows_.has(number)) {
        flows_.resize(number.index() + std::size_t{1});
    }
    const Sender& sender = all_.senders[number];
    flows_[number] = Flow{};
    flows_[number].left = static_cast<i64>(most(sender));
    apply(number);
}

void Credits::sent(SenderId number, PacketId packet) {
    const Sender& sender = all_.senders[number];
    Flow& of = flows_[number];
    of.left -= all_.packets[packet].payload;
    i64 asks = static_cast<i64>(std::min(to_send(sender), most(sender)));
    if (sender.window_now != 0) {
        asks = std::min(asks, static_cast<i64>(sender.window_now + 2 * u64{all_.settings.payload_bytes}));
    }
    asks -= of.left;
    if (of.is_unasked && sender.left() > 0) {
        asks = std::max<i64>(asks, all_.settings.payload_bytes);
    }
    apply(number);
    asks /= std::max(wanting_[sender.port], 1U);
    all_.packets.asked_by(packet) = of.granted + static_cast<u64>(std::max<i64>(asks, 0));
}

void Credits::lapse(Flow& of) {
    if (of.is_unasked) {
        of.is_unasked = false;
        of.left = std::min<i64>(of.left, 0);
    }
}

void Credits::answered(SenderId number) {
    lapse(flows_[number]);
    apply(number);
}

void Credits::granted(SenderId number, u64 total) {
    Flow& of = flows_[number];
    lapse(of);
    if (total > of.granted) {
        const i64 more = static_cast<i64>(total - of.granted);
        of.left = std::min(of.left + more, static_cast<i64>(most(all_.senders[number])));
        of.granted = total;
    }
    apply(number);
}

void Credits::was_silent(SenderId number) {
    flows_[number].is_unasked = false;
    flows_[number].left = std::max<i64>(flows_[number].left, all_.settings.payload_bytes);
    apply(number);
}

void Credits::leave(SenderId number) {
    wanting_[all_.senders[number].port] -= flows_[number].wants ? 1 : 0;
    flows_[number].wants = false;
}

u64 Credits::most(const Sender& sender) const {
    const double ns = all_.senders.ns(sender.base_rtt);
    const double bytes = all_.settings.credit_window * ns * static_cast<double>(sender.line_rate) / 8e9;
    return std::max(static_cast<u64>(bytes), u64{all_.settings.payload_bytes});
}

u64 Credits::to_send(const Sender& sender) const {
    return sender.left() + u64{sender.resends} * all_.settings.payload_bytes;
}

void Credits::apply(SenderId number) {
    Sender& sender = all_.senders[number];
    Flow& of = flows_[number];
    const bool had_none = sender.has_no_credit;
    sender.has_no_credit = of.left <= 0;
    const bool wants = of.left > 0 && to_send(sender) > 0;
    wanting_[sender.port] += static_cast<u32>(wants) - static_cast<u32>(of.wants);
    of.wants = wants;
    if (had_none && !sender.has_no_credit) {
        all_.senders.touch(number);
    }
}

void Credits::came(PacketId packet) {
    const Packet& data = all_.packets[packet];
    const Sender& to = all_.senders.received_from(data.sender);
    Flow& of = flows_[data.sender];
    const u64 asked = all_.packets.asked_by(packet);
    const bool asks = asked > of.asked || data.is_trimmed;
    of.asked = std::max(of.asked, asked);
    if (!asks || of.waits) {
        return;
    }
    of.waits = true;
    Granting& port = ports_[to.ack_port];
    port.waiting.push_back({data.sender, data.serial});
    if (!port.rests) {
        port.rests = true;
        all_.senders.start_timer(TimerKind::grants, to.ack_port, 0);
    }
}

// Of those whose receiver still misses something.
std::optional<Credits::Name> Credits::next_of(std::deque<Name>& queue) {
    while (!queue.empty()) {
        const Name name = queue.front();
        queue.pop_front();
        const Sender& to = all_.senders.received_from(name.sender);
        if (to.receives == name.serial && to.expected < to.whole) {
            return name;
        }
    }
    return std::nullopt;
}

void Credits::grant(PortId number) {
    Granting& port = ports_[number];
    port.rests = false;
    std::optional<Name> of = next_of(port.waiting);
    const bool is_asked = of.has_value();
    if (!is_asked) {
        of = next_of(port.sated);
    }
    if (!of) {
        return;
    }
    const u64 bytes = serve(*of, is_asked, port);
    const double with_headers = static_cast<double>(bytes == 0 ? bytes_of_none : bytes) *
                                (1.0 + static_cast<double>(all_.packets.data_header()) / all_.settings.payload_bytes);
    const double rate = static_cast<double>(all_.ports[number].bits_per_s) * all_.settings.credit_rate;
    port.rests = true;
    all_.senders.start_timer(TimerKind::grants, number, all_.senders.ticks(with_headers * 8e9 / rate));
}

// Returns the bytes granted.
u64 Credits::serve(const Name& name, bool is_asked, Granting& port) {
    const Sender& to = all_.senders.received_from(name.sender);
    Flow& of = flows_[name.sender];
    const u64 each = all_.settings.credits * all_.settings.payload_bytes;
    const u64 before = of.given;
    if (is_asked) {
        of.given = std::max(before, std::min(before + each, of.asked));
        of.waits = of.given < of.asked;
        (of.waits ? port.waiting : port.sated).push_back(name);
    } else if (!of.waits) {   // else it asked meanwhile, and was served, or will be
        of.given += each;
        if (of.given < of.asked + most(to)) {
            port.sated.push_back(name);
        }
    }
    hosts_.give(to, name.sender, of.given);
    return of.given - before;
}

}  // namespace yantra::packet
