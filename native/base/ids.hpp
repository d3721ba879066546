// Typed ids, so that a rank cannot be passed for a link, and vectors indexed by one kind.
// Trade-off: plain containers need `index()`.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "base/types.hpp"

namespace yantra {

template <class Tag>
class Id {
public:
    static const Id none;

    constexpr Id() = default;   // none
    constexpr explicit Id(u32 index) : index_(index) {}

    constexpr u32 index() const { return index_; }
    constexpr bool is_none() const { return index_ == yantra::none; }

    friend constexpr auto operator<=>(Id, Id) = default;

private:
    u32 index_ = yantra::none;
};

template <class Tag>
inline constexpr Id<Tag> Id<Tag>::none{};

template <class IdType, class T>
class IdVector {
public:
    using Values = std::vector<T>;

    IdVector() = default;
    explicit IdVector(std::size_t size) : values_(size) {}
    IdVector(std::size_t size, const T& value) : values_(size, value) {}
    explicit IdVector(Values values) : values_(std::move(values)) {}

    typename Values::reference operator[](IdType id) { return values_[id.index()]; }
    typename Values::const_reference operator[](IdType id) const { return values_[id.index()]; }

    IdType add(T value) {
        values_.push_back(std::move(value));
        return IdType(static_cast<u32>(values_.size() - 1));
    }
    // The id that add() gives next.
    IdType next() const { return IdType(static_cast<u32>(values_.size())); }
    bool has(IdType id) const { return id.index() < values_.size(); }

    std::size_t size() const { return values_.size(); }
    bool empty() const { return values_.empty(); }
    void reserve(std::size_t size) { values_.reserve(size); }
    void resize(std::size_t size) { values_.resize(size); }
    void resize(std::size_t size, const T& value) { values_.resize(size, value); }
    void assign(std::size_t size, const T& value) { values_.assign(size, value); }
    void clear() { values_.clear(); }

    auto begin() { return values_.begin(); }
    auto end() { return values_.end(); }
    auto begin() const { return values_.begin(); }
    auto end() const { return values_.end(); }

    const Values& values() const { return values_; }
    Values take() && { return std::move(values_); }

private:
    Values values_;
};

using RankId = Id<struct RankTag>;
using ClassId = Id<struct ClassTag>;      // of ranks that do the same
using ActorId = Id<struct ActorTag>;      // who runs: a rank, or a class in a folded run
using NodeId = Id<struct NodeTag>;        // of a trace, by ascending id
using ChunkId = Id<struct ChunkTag>;
using LinkId = Id<struct LinkTag>;

using ProgramId = Id<struct ProgramTag>;
using PhaseCounterId = Id<struct PhaseCounterTag>;   // of collectives that alternate programs
using PlanId = Id<struct PlanTag>;
using LayoutId = Id<struct LayoutTag>;    // of communicators
using CommunicatorId = Id<struct CommunicatorTag>;
using CustomId = Id<struct CustomTag>;    // a collective given by traces

}  // namespace yantra

template <class Tag>
struct std::hash<yantra::Id<Tag>> {
    std::size_t operator()(yantra::Id<Tag> id) const noexcept { return id.index(); }
};
