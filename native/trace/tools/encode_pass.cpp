#include "trace/tools/encode_pass.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "trace/schema.hpp"

namespace yantra {

namespace {

constexpr PlaceInPass in_no_segment{std::numeric_limits<std::uint32_t>::max(), 0};

class AttributeWriter {
public:
    explicit AttributeWriter(Trace& block) : block_(block) {}

    void number(std::string_view name, std::int64_t value, AttributeKind kind = AttributeKind::int64) {
        Attribute& added = block_.add_attribute();
        added.name = block_.attribute_names.intern(name);
        added.kind = kind;
        added.value = static_cast<std::uint64_t>(value);
    }
    void text(std::string_view name, std::string_view value) {
        const Text piece = block_.add_text(value);
        Attribute& added = block_.add_attribute();
        added.name = block_.attribute_names.intern(name);
        added.kind = AttributeKind::string;
        added.value = piece.begin;
        added.count = static_cast<std::uint32_t>(piece.size);
    }
    void on_device() { number("is_cpu_op", 0, AttributeKind::boolean); }

private:
    Trace& block_;
};

void write_computation(AttributeWriter& out, const PassOperation& one) {
    out.number("num_ops", std::max<std::int64_t>(one.flops(), 1));   // none never ends upstream
    out.number("tensor_size", std::max<std::int64_t>(one.moved(), 1), AttributeKind::uint64);   // none is skipped
    out.on_device();
    out.number("bytes_read", one.bytes_read);
    out.number("bytes_written", one.bytes_written);
    out.number("flops_tensor", one.tensor_flops);
    out.number("flops_vector", one.vector_flops);
    out.text("op_class", one.kind);
    out.text("dtype", one.dtype);
    if (one.repeated_flops != 0) {
        out.number("flops_repeated", one.repeated_flops);
    }
    constexpr std::array<std::string_view, 4> names{"batch", "m", "n", "k"};
    if (one.shape.size() > names.size()) {
        throw std::invalid_argument("'" + one.name + "' has a shape of more than four sizes");
    }
    for (std::size_t at = 0; at < one.shape.size(); ++at) {
        out.number(names[names.size() - one.shape.size() + at], one.shape[at]);
    }
    for (const auto& [name, size] : one.sizes) {
        if (size != 0) {
            out.number(name, size);
        }
    }
}

NodeType write_costs(AttributeWriter& out, const PassOperation& one) {
    if (one.comm_type) {
        out.number("comm_type", *one.comm_type);
        out.number("comm_size", one.size_bytes);
        out.text("pg_name", one.group);
        out.on_device();
        return NodeType::comm_coll;
    }
    if (!one.peer.empty()) {
        if (one.tag < 0 || one.tag > std::numeric_limits<std::int32_t>::max()) {
            throw std::invalid_argument("'" + one.name + "' has a tag beyond 31 bits");
        }
        out.number("comm_size", one.size_bytes);
        out.number("comm_tag", one.tag, AttributeKind::int32);
        out.text("comm_peer", one.peer);
        out.on_device();
        return one.kind == "send" ? NodeType::comm_send : NodeType::comm_recv;
    }
    if (one.moves_memory()) {
        out.number("tensor_size", one.size_bytes, AttributeKind::uint64);
        out.on_device();
        return one.kind == "mem_load" ? NodeType::mem_load : NodeType::mem_store;
    }
    write_computation(out, one);
    return NodeType::comp;
}

void write_place(AttributeWriter& out, const PassOperation& one, std::optional<std::int64_t> chunk) {
    out.text("phase", one.phase);
    if (!one.unit.empty()) {
        out.text("layer", one.unit);
    }
    if (chunk) {
        out.number("microbatch", 0);
        out.number("chunk", *chunk);
    }
    if (one.saves != 0) {
        out.number("act_alloc", one.saves);
    }
    if (one.frees != 0) {
        out.number("act_free", one.frees);
    }
}

class SegmentWriter {
public:
    SegmentWriter(const std::vector<PlaceInPass>& places, std::uint32_t number, std::optional<std::int64_t> chunk)
        : places_(places), number_(number), chunk_(chunk) {
        block_->add_metadata();
    }

    void add(const PassItem& item) {
        const std::uint64_t place = block_->size();
        data_.clear();
        control_.clear();
        for (const PassItem::Wait& wait : item.waits) {
            add_wait(item, wait, place);
        }
        const std::optional<std::uint64_t> computed = made_.last_compute;
        follow(predecessor(*item.operation, place));
        if (item.follows_all && !computed) {
            made_.starts.push_back(place);
        } else if (item.follows_all) {
            follow(computed);
        }
        write(*item.operation, place);
    }

    Segment finish() {
        made_.block = std::move(block_);
        return std::move(made_);
    }

private:
    void add_wait(const PassItem& item, const PassItem::Wait& wait, std::uint64_t place) {
        if (wait.source) {
            made_.outer.push_back({place, *wait.source, wait.key, wait.is_control});
            return;
        }
        if (wait.key >= places_.size() || places_[wait.key] == in_no_segment) {
            throw std::invalid_argument("'" + item.operation->name + "' waits for an operation of another pass");
        }
        const auto [segment, earlier] = places_[wait.key];
        if (segment == number_) {
            (wait.is_control ? control_ : data_).push_back(earlier);
        } else {
            made_.inner.push_back({place, segment, earlier, wait.is_control});
        }
    }

    std::optional<std::uint64_t> predecessor(const PassOperation& one, std::uint64_t place) {
        if (one.computes()) {
            const std::optional<std::uint64_t> before = std::exchange(made_.last_compute, place);
            if (!before) {
                made_.first_compute = place;
            }
            return before;
        }
        if (!one.comm_type) {
            return std::nullopt;
        }
        for (Segment::Chain& chain : made_.chains) {
            if (chain.group == one.group) {
                return std::exchange(chain.last, place);
            }
        }
        made_.chains.push_back({one.group, place, place});
        return std::nullopt;
    }

    void follow(std::optional<std::uint64_t> before) {
        auto waits_in = [&](const std::vector<std::uint64_t>& list) {
            return std::find(list.begin(), list.end(), *before) != list.end();
        };
        if (before && !waits_in(data_) && !waits_in(control_)) {
            control_.push_back(*before);
        }
    }

    void write(const PassOperation& one, std::uint64_t place) {
        AttributeWriter out(*block_);
        const NodeType type = write_costs(out, one);
        write_place(out, one, chunk_);
        block_->data_dep.insert(block_->data_dep.end(), data_.begin(), data_.end());
        block_->ctrl_dep.insert(block_->ctrl_dep.end(), control_.begin(), control_.end());
        block_->add_node({place, one.name, static_cast<std::int32_t>(type), 0, 0, 0});
    }

    const std::vector<PlaceInPass>& places_;
    std::uint32_t number_;
    std::optional<std::int64_t> chunk_;
    std::shared_ptr<Trace> block_ = std::make_shared<Trace>();
    Segment made_;
    std::vector<std::uint64_t> data_, control_;   // of the node being made
};

}  // namespace

EncodedPass encode_pass(const std::vector<std::vector<PassItem>>& parts,
                        std::optional<std::int64_t> chunk) {
    EncodedPass made;
    for (std::uint32_t number = 0; number < parts.size(); ++number) {
        for (std::size_t place = 0; place < parts[number].size(); ++place) {
            const std::uint32_t key = parts[number][place].key;
            if (made.places.size() <= key) {
                made.places.resize(key + std::size_t{1}, in_no_segment);
            }
            made.places[key] = {number, place};
        }
        SegmentWriter writer(made.places, number, chunk);
        for (const PassItem& item : parts[number]) {
            writer.add(item);
        }
        made.segments.push_back(writer.finish());
    }
    return made;
}

}  // namespace yantra
