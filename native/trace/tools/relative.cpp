#include "trace/tools/relative.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/interner.hpp"

namespace yantra {

namespace {

enum class NameRole : std::uint8_t { none, group, peer };

bool is_type(const Trace& trace, std::size_t record, NodeType type) {
    return trace.type[record] == static_cast<std::int32_t>(type);
}

bool sends_or_receives(const Trace& trace, std::size_t record) {
    return is_type(trace, record, NodeType::comm_send) || is_type(trace, record, NodeType::comm_recv);
}

NameRole role_of(const Trace& trace, std::size_t record, const Attribute& item) {
    const bool is_message = sends_or_receives(trace, record);
    if (item.kind != AttributeKind::string ||
        (!is_message && !is_type(trace, record, NodeType::comm_coll))) {
        return NameRole::none;
    }
    const std::string& name = trace.attribute_name(item);
    return name == "pg_name"                      ? NameRole::group
           : name == peer_attribute && is_message ? NameRole::peer
                                                  : NameRole::none;
}

template <typename Value>
const Value& found(const std::unordered_map<std::string, Value>& known, std::string_view name,
                   const Trace& trace, std::size_t record, const char* what) {
    const auto at = known.find(std::string(name));
    if (at == known.end()) {
        throw std::invalid_argument("node " + std::to_string(trace.id[record]) + " '" +
                                    std::string(trace.name(record)) + "': no " + what + " '" +
                                    std::string(name) + "'");
    }
    return at->second;
}

class Resolver {
public:
    Resolver(const Trace& trace, const Meaning& meaning)
        : trace_(trace), meaning_(meaning), out_(trace) {
        source_ = out_.attribute_names.intern("comm_src");
        target_ = out_.attribute_names.intern("comm_dst");
    }

    Trace run() {
        out_.attributes.clear();
        out_.docs.clear();
        erase_if(out_.foreign, [](const ForeignFields& one) {
            return one.of == MessageKind::attribute || one.of == MessageKind::list;
        });
        copy(trace_.metadata_attributes());
        out_.attribute_begin.front() = out_.attributes.size();
        for (std::size_t record = 0; record < trace_.size(); ++record) {
            has_peer_ = !sends_or_receives(trace_, record);
            for (const Attribute& item : trace_.attributes_of(record)) {
                resolve(record, item);
            }
            if (!has_peer_) {
                throw std::invalid_argument("node " + std::to_string(trace_.id[record]) + " '" +
                                            std::string(trace_.name(record)) +
                                            "': attribute 'comm_peer' is missing or not a string");
            }
            out_.attribute_begin[record + 1] = out_.attributes.size();
        }
        out_.sort_foreign();
        return std::move(out_);
    }

private:
    void copy(std::span<const Attribute> items) {
        for (const Attribute& item : items) {
            out_.add_attribute() = item;
            keep_rest(item);
        }
    }

    void keep_rest(const Attribute& item) {
        if (!trace_.docs.empty()) {
            out_.set_doc(trace_.doc_of(item));
        }
        for (const MessageKind of : {MessageKind::attribute, MessageKind::list}) {
            const auto number = static_cast<std::uint64_t>(&item - trace_.attributes.data());
            for (const ForeignFields& one : trace_.foreign_of(of, number)) {
                out_.foreign.push_back({of, out_.attributes.size() - 1, one.bytes});
            }
        }
    }

    void resolve(std::size_t record, const Attribute& item) {
        switch (role_of(trace_, record, item)) {
            case NameRole::none: copy({&item, 1}); return;
            case NameRole::group: group(record, item); return;
            case NameRole::peer: peer(record, item); return;
        }
    }

    void group(std::size_t record, const Attribute& item) {
        const std::string& id =
            found(meaning_.groups, trace_.text_of(item), trace_, record, "group is named");
        const auto [place, is_new] = texts_.try_emplace(id);
        if (is_new) {
            place->second = out_.add_text(id);
        }
        Attribute& added = out_.add_attribute();
        added = item;
        added.value = place->second.begin;
        added.count = static_cast<std::uint32_t>(place->second.size);
        keep_rest(item);
    }

    void peer(std::size_t record, const Attribute& item) {
        const std::uint32_t other =
            found(meaning_.peers, trace_.text_of(item), trace_, record, "rank is known for the peer");
        if (has_peer_) {
            return;  // the first one counts
        }
        has_peer_ = true;
        const bool sends = is_type(trace_, record, NodeType::comm_send);
        for (const bool is_source : {true, false}) {
            Attribute& added = out_.add_attribute();
            added.kind = AttributeKind::int32;
            added.name = is_source ? source_ : target_;
            added.value = is_source == sends ? meaning_.rank : other;
        }
    }

    const Trace& trace_;
    const Meaning& meaning_;
    Trace out_;
    std::unordered_map<std::string, Text> texts_;
    std::uint32_t source_ = 0;
    std::uint32_t target_ = 0;
    bool has_peer_ = false;  // of the current node, if it needs one
};

}  // namespace

RelativeNames relative_names(const Trace& trace) {
    Interner groups;
    Interner peers;
    for (std::size_t record = 0; record < trace.size(); ++record) {
        for (const Attribute& item : trace.attributes_of(record)) {
            const NameRole role = role_of(trace, record, item);
            if (role != NameRole::none) {
                (role == NameRole::group ? groups : peers).intern(trace.text_of(item));
            }
        }
    }
    return {std::move(groups).take(), std::move(peers).take()};
}

Trace resolve(const Trace& trace, const Meaning& meaning) { return Resolver(trace, meaning).run(); }

Trace with_collectives_in_order(const Trace& trace) {
    Trace out = trace;
    out.ctrl_dep.clear();
    std::optional<std::uint64_t> before;
    for (std::size_t record = 0; record < trace.size(); ++record) {
        const auto own = trace.ctrl_deps(record);
        out.ctrl_dep.insert(out.ctrl_dep.end(), own.begin(), own.end());
        if (is_type(trace, record, NodeType::comm_coll)) {
            const auto data = trace.data_deps(record);
            if (before && std::ranges::find(own, *before) == own.end() &&
                std::ranges::find(data, *before) == data.end()) {
                out.ctrl_dep.push_back(*before);
            }
            before = trace.id[record];
        }
        out.ctrl_dep_begin[record + 1] = out.ctrl_dep.size();
    }
    return out;
}

}  // namespace yantra
